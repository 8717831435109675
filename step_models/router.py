"""Routers: how much every expert has to do with a row."""

from __future__ import annotations

from step import Graph, Stream, Tensor
from step.functions import Exp, Matmul, RowMax, Sub
from step_models.projection import held_tile


def scores(graph: Graph, x: Stream, weight: Tensor, *, prefix: str = "") -> Stream:
    """The softmax of x @ weight but for its sum: of BF16 rows ``x`` [tokens] rows [tokens] of FP32 tiles [1, experts].

    The ``weight`` [hidden, experts] is read once. `step_models.mixture.Mixture.chosen` makes routes of the scores.
    """
    batch = x.promote(name=f"{prefix}router_batch")
    held = held_tile(graph, weight, batch, name=f"{prefix}router")
    logits = batch.map(Matmul(), held, name=f"{prefix}router_logits")
    largest = logits.map(RowMax(), name=f"{prefix}router_largest")
    relative = logits.map(Sub(), largest, name=f"{prefix}router_relative")
    result: Stream = relative.map(Exp(), name=f"{prefix}router_scores").flatten(0, 1, name=f"{prefix}router_rows")
    return result.assume_shape(x.shape)
