"""Mixtures of SwiGLU experts as programs, with routings as inputs; see `step_models.mixture`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from step import BF16, FabricConfig, Graph, Program
from step.language.fused import Sum
from step_models.checking import workload
from step_models.mixture import Mixture, check_dealt
from step_models.routing import check_routing
from step_models.swiglu import random_weights, reference
from step_models.weights import Data, finished, normal


@workload
def program(
    routing: np.ndarray,
    *,
    experts: int,
    hidden: int = 64,
    inner: int = 64,
    rows: int | None = 4,
    depth: int | None = None,
    columns: int = 16,
    regions: int | None = None,
    sum: Sum = "ordered",
    fabric: FabricConfig | None = None,
    values: bool = True,
    name: str = "moe",
) -> Program:
    """The mixture for tokens that go to the experts ``routing`` [tokens, k] says; else as in `Mixture`.

    ``depth``: all of ``hidden`` unless given. Without ``fabric`` it is the smallest one of the published evaluation's
    kind that has room for the tiles. Without ``values`` the weights and activations are zeros, which take no memory,
    and nothing is expected. Raises `InputError` for what does not fit.
    """
    routing = check_routing(routing, experts)
    depth = hidden if depth is None else depth
    mixture = Mixture(experts, hidden, inner, rows, depth, columns, regions, sum=sum)
    graph = Graph(name)
    tokens, chosen = routing.shape
    x = graph.load(graph.tensor("x", (tokens, hidden), BF16), tile=(1, hidden), name="load_x")
    mixture.apply(graph, x.flatten(0, 2, name="rows"), chosen).store("output")

    def data(random: np.random.Generator) -> Data:
        x, score = normal(random, tokens, hidden), random_scores(random, routing)
        weights = [random_weights(random, hidden, inner) for _ in range(experts)]
        inputs = {"x": x, **mixture.routed(routing, score), **mixture.tensors(weights)}
        return inputs, {"output": mixture_reference(x, routing, score, weights)}

    blank = mixture.routed(routing, np.zeros(routing.shape))
    return finished(graph, fabric, data if values else None, blank, tokens if rows is None else 1)


@workload
def symbols(
    routing: np.ndarray, experts: int, prefix: str = "", *, rows: int | None = None, regions: int | None = None
) -> dict[str, int]:
    """Values of a mixture's symbols from its routing alone: to measure them (`step.bind`) takes long at full size.

    Enough for the metrics of a mixture whose names begin with ``prefix``, and whose experts, in tiles of ``rows``
    rows or one of all rows, share ``regions`` if there are any. Raises `InputError` for what no mixture can have.
    """
    routing = check_routing(routing, experts)
    check_dealt(experts, rows, regions)
    tokens, counts = len(routing), np.bincount(routing.reshape(-1), minlength=experts)
    known = {f"{prefix}route_D{number}": int(count) for number, count in enumerate(counts)}
    if regions is not None:
        shared = counts.reshape(regions, -1)
        tiles = -(-shared // (rows or tokens))
        for number, (count, together) in enumerate(zip(tiles.sum(1), shared.sum(1), strict=True)):
            known[f"{prefix}region{number}_turns_D0"] = int(count)
            if rows is None and regions < experts:  # tiles of one expert alone have the rows that it says
                known[f"{prefix}region{number}_turns_rows"] = int(together)
    return {**known, f"{prefix}gather_selected": routing.size}


def random_scores(random: np.random.Generator, routing: np.ndarray) -> np.ndarray:
    """Weights of the experts of every token, which add up to one but for rounding to BF16."""
    tokens, chosen = routing.shape
    return random.dirichlet(np.ones(chosen), tokens).astype(BF16.numpy)


def mixture_reference(
    x: np.ndarray, routing: np.ndarray, score: np.ndarray, weights: Sequence[dict[str, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray]:
    """The mixture in float64 on rows ``x``, and a bound on the error of the BF16 program per element."""
    expected, bound = np.zeros(x.shape), np.zeros(x.shape)
    for number, of_expert in enumerate(weights):
        tokens, slots = np.nonzero(routing == number)
        result, error = reference(x[tokens], of_expert)
        factor = score[tokens, slots].astype(np.float64)[:, None]
        expected[tokens] += factor * result
        bound[tokens] += factor * error
    return expected, bound
