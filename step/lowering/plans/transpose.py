"""Plan of making columns of rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from step.language.function import Function
from step.language.types import Tile
from step.lowering.plans.plan import Application, DatapathPlan, Timing


def plan(function: Function, application: Application) -> TransposePlan:
    """Wires: of a tile that is there as a whole; the words of a single row or column stay what they are."""
    (tile,) = application.inputs
    assert isinstance(tile, Tile)
    if 1 in tile.shape:
        link_bits = 8 * application.fabric.link_bytes
        return TransposePlan((1, 1), tile.bits if tile.is_control else min(tile.bits, link_bits))
    return TransposePlan(tile.shape, tile.dtype.bits)


@dataclass(frozen=True)
class TransposePlan(DatapathPlan):
    """A matrix of scalars, with so many rows and columns, column by column; a single one is the word that comes."""

    extents: tuple[int, int]
    scalar_bits: int

    takes_rows = False
    rows = property(lambda self: self.extents[0])
    operand_bits = property(lambda self: (self.result_bits,))
    result_bits = property(lambda self: prod(self.extents) * self.scalar_bits)
    streams = property(lambda self: self.extents == (1, 1))

    def at(self, rows: Any) -> Timing:
        return Timing(1, 0, self.streams)
