"""Datapath that makes columns of rows."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Value

from hw.functions.wires import WiresDatapath
from step.functions.transpose import Transpose


class TransposeDatapath(WiresDatapath, of=Transpose):
    """``result`` = ``operand0``, a matrix, column by column."""

    def value(self, m: Module) -> Value:
        tile: Any = self.plan.inputs[0]
        rows, cols = (1, 1) if self.streams else tile.shape
        places = (row * cols + col for col in range(cols) for row in range(rows))
        bits = self.plan.result_bits // (rows * cols)
        return Cat(self.operand0.word_select(place, bits) for place in places)
