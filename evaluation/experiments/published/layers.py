"""The points of Fig. 17, whole decoder layers, and of attention as models have it: programs of `step_models`.

The artifact has neither a graph nor a script for Fig. 17, and the paper says little of its layers. These are one layer
of each model, with norms and projections, all KV heads with their true size, scaled and with an online softmax; the
routing is the measured one, and the caches those of a batch of medium variance. Layers follow each other, so the
speedup of one is that of all with such routings. Operators have 4096 operations a cycle in all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from experiments.layers import MeasuredLayer, of_models
from experiments.published import attention as artifact
from experiments.published.batches import as_if_alone, batches, tiles
from experiments.published.point import PublishedPoint
from sim_published.profile import PublishedProfile
from step import Graph, Program
from step_models import attention

SIZE = 128
"""Columns of the heads of models."""

PROFILE = PublishedProfile(channel_depth=2, honour_depths=True, flops=4096)
TRUE_ATTENTION = PublishedProfile(channel_depth=1, honour_depths=True, flops=artifact.PROFILE.flops)


def layers() -> Iterator[PublishedPoint]:
    """Fig. 17: static tiles and requests by turns against dynamic tiles and regions that take work when free."""
    for layer in of_models():
        symbols = layer.symbols | _symbols(layer.lengths, layer.model.key_value_heads)
        yield PublishedPoint(layer.name, PROFILE, partial(_made, layer), symbols=symbols, skips=True)


def _made(layer: MeasuredLayer) -> tuple[Graph, dict[str, Any]]:
    return _parts(layer.program())


def true_attention() -> Iterator[PublishedPoint]:
    """The batches of Figs. 14, 15 and 21 with attention as models have it."""
    for name, lengths, room in batches():
        symbols = _symbols(lengths, 1)
        for arrangement in artifact.ARRANGEMENTS:
            make = partial(_attention, lengths, room, arrangement)
            yield PublishedPoint(f"{name} {arrangement}", TRUE_ATTENTION, make, symbols=symbols)


def _attention(lengths: np.ndarray, room: int, arrangement: Any) -> tuple[Graph, dict[str, Any]]:
    program = attention.program(
        lengths,
        arrangement=arrangement,
        regions=artifact.REGIONS,
        heads=1,
        group=artifact.GROUP,
        size=SIZE,
        rows=artifact.ROWS,
        room=room * artifact.ROWS,
        block=artifact.COARSE if arrangement == "coarse" else None,
        values=False,
    )
    return _parts(program)


def _symbols(lengths: np.ndarray, heads: int) -> dict[str, int]:
    """Values of the symbols of attention."""
    count = heads * len(lengths)
    parts = {f"{name}parts_D{{}}": count for name in ("", "parallel_")}
    return as_if_alone({**parts, "region{}_address_pieces": heads * tiles(lengths)})


def _parts(program: Program) -> tuple[Graph, dict[str, Any]]:
    return program.graph, dict(program.inputs)
