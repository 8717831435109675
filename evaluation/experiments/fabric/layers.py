"""Fig. 17: a whole decoder layer, with static tiles and regions that take turns, or both dynamic."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from experiments.fabric.points import FabricPoint, on_fabric, shared
from experiments.layers import CACHE_ROWS, MeasuredLayer, of_models
from step import Program


def layers() -> Iterator[FabricPoint]:
    """Both models in every schedule."""
    for layer in of_models():
        heads, lengths = layer.model.key_value_heads, layer.lengths
        sequences = shared(len(lengths) * heads, int((lengths // CACHE_ROWS + 1).sum()) * heads)
        yield FabricPoint(layer.name, partial(_made, layer), layer.symbols | sequences)


def _made(layer: MeasuredLayer) -> Program:
    return on_fabric(layer.program(), 4096)
