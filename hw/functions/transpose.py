"""Datapath that makes columns of rows."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module

from hw.functions.datapath import Datapath, made_by
from step.functions.transpose import Transpose
from step.lowering.plans.transpose import TransposePlan


class TransposeDatapath(Datapath):
    """``result`` = ``operand0``, a matrix, column by column."""

    plan: TransposePlan
    clocked = False

    def elaborate(self, platform: Any) -> Module:
        m, (rows, cols) = Module(), self.plan.extents
        places = (row * cols + col for col in range(cols) for row in range(rows))
        m.d.comb += self.result.eq(Cat(self.operand0.word_select(place, self.plan.scalar_bits) for place in places))
        return m


datapath = made_by({Transpose: TransposeDatapath})
