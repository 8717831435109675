"""Reciprocal square root of an FP32 number, pipelined."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Value

from hw.arithmetic.tabulated import Tabulated, rounded
from step.functions.rsqrt import reciprocal_roots


class Rsqrt(Tabulated):
    """``result`` = 1 / sqrt(``value``), as `step.functions.rsqrt.rsqrt` does it, step by step."""

    cuts = (1,), (1, 4), (1, 2, 4), (1, 2, 3, 4)

    def compute(self, m: Module) -> Value:
        exponent, fraction, sign = self.value[23:31], self.value[:23], self.value[31]
        x = self.read(
            m,
            1,
            reciprocal_roots(),
            fraction,
            ~exponent[0],  # the bias is odd
            half=(exponent + 1)[1:],  # of the exponent, rounded down, and biased by 64
            sign=sign,
            zero=~exponent.any(),
            infinite=exponent == 255,
            nan=((exponent == 255) & fraction.any()) | (sign & exponent.any()),
        )
        exponent = (127 + 64 - x.half).as_signed()
        magnitude = rounded(m, x.factor, exponent, 2, zero=x.infinite, infinite=x.zero)
        return Mux(x.nan, C(0x7FC00000, 32), Cat(magnitude, x.sign))
