"""Datapath of weights that are multiplied by their scales."""

from __future__ import annotations

from amaranth.hdl import Module, Value

from hw.arithmetic.integers import FromInteger
from hw.arithmetic.staged import Staged, placed
from hw.functions.elementwise import ArithmeticLane, multiplier
from hw.functions.vector import on_lanes
from hw.primitives.timing import delayed
from step.functions.dequantize import Dequantize
from step.language.dtypes import BF16


class DequantizeLane(ArithmeticLane):
    """An integer in FP32, or in BF16, which holds it as well, a register, and the product with its scale."""

    @property
    def _convert(self) -> Staged:
        return FromInteger(self.formats[0], self.stages)

    @property
    def _multiply(self) -> Staged:
        scale = self.formats[1]
        return multiplier((scale, scale), self.out, self.stages)

    @property
    def operation_depth(self) -> int:
        return self._convert.depth + 1 + self._multiply.depth

    def compute(self, m: Module, name: str, *operands: Value) -> Value:
        weight, scale = operands
        number = placed(m, f"{name}_number", self._convert, weight)
        if self.formats[1] is BF16:
            number = number[16:]
        number = delayed(m, number, 1, f"{name}_number_out")
        scale = delayed(m, scale, self._convert.depth + 1, f"{name}_scale")
        return placed(m, name, self._multiply, number, scale)


datapath = on_lanes({Dequantize: DequantizeLane})
