"""Datapath that makes columns of rows."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module

from hw.functions.datapath import Datapath, made_by
from step.functions.transpose import Transpose
from step.language.types import Tile
from step.lowering.plans.plan import Wires


class TransposeDatapath(Datapath):
    """``result`` = ``operand0``, a matrix, column by column."""

    plan: Wires
    clocked = False

    def elaborate(self, platform: Any) -> Module:
        m, (tile,) = Module(), self.plan.inputs
        assert isinstance(tile, Tile)
        rows, cols = (1, 1) if self.streams else tile.shape
        places = (row * cols + col for col in range(cols) for row in range(rows))
        bits = self.plan.result_bits // (rows * cols)
        m.d.comb += self.result.eq(Cat(self.operand0.word_select(place, bits) for place in places))
        return m


datapath = made_by({Transpose: TransposeDatapath})
