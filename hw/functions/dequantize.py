"""Datapath of integers that are multiplied by their scales."""

from __future__ import annotations

from amaranth.hdl import Module, Value

from hw.arithmetic.convert import as_fp32
from hw.arithmetic.integers import FromInteger
from hw.arithmetic.staged import placed
from hw.functions.elementwise import ArithmeticLane
from hw.primitives.timing import delayed
from step.functions.dequantize import Dequantize
from step.language.dtypes import BF16, FP32, INT32


class DequantizeLane(ArithmeticLane, of=Dequantize):
    """An integer in FP32, or in BF16 if that holds it as well, a register, and the product with its scale."""

    def compute(self, m: Module, name: str, *operands: Value) -> Value:
        (integer, scale), (source, scales) = operands, self.formats
        convert, factors = FromInteger(source, self.stages), FP32 if source is INT32 else scales
        number = placed(m, f"{name}_number", convert, integer)
        if factors is BF16:
            number = number[16:]
        number = delayed(m, number, 1, f"{name}_number_out")
        scale = delayed(m, scale, convert.depth + 1, f"{name}_scale")
        if factors is FP32:
            scale = as_fp32(scale, scales)
        return placed(m, name, self.multiplier(factors, factors), number, scale)
