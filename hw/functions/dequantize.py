"""Datapath of weights that are multiplied by their scales."""

from __future__ import annotations

from amaranth.hdl import Module, Value

from hw.arithmetic.integers import FromInteger
from hw.arithmetic.staged import placed
from hw.functions.elementwise import ArithmeticLane
from hw.primitives.timing import delayed
from step.functions.dequantize import Dequantize
from step.language.dtypes import BF16


class DequantizeLane(ArithmeticLane, of=Dequantize):
    """An integer in FP32, or in BF16, which holds it as well, a register, and the product with its scale."""

    def compute(self, m: Module, name: str, *operands: Value) -> Value:
        weight, scale = operands
        convert, scales = FromInteger(self.formats[0], self.stages), self.formats[1:]
        number = placed(m, f"{name}_number", convert, weight)
        if scales == (BF16,):
            number = number[16:]
        number = delayed(m, number, 1, f"{name}_number_out")
        scale = delayed(m, scale, convert.depth + 1, f"{name}_scale")
        return placed(m, name, self.multiplier(*2 * scales), number, scale)
