"""Exact product of two BF16 numbers."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hw.shared import Parametric


class Bf16Multiply(Parametric):
    """``result`` (FP32) = ``first`` * ``second`` (BF16), combinational; subnormal numbers are zeros, NaN is canonical.

    The product of two 8 bit mantissas fits FP32, so there is no rounding.
    """

    clocked = False
    parameters = ()

    def __init__(self) -> None:
        super().__init__({"first": In(16), "second": In(16), "result": Out(32)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        exponents = self.first[7:15], self.second[7:15]
        fractions = self.first[:7], self.second[:7]
        product = Signal(16)
        exponent = Signal(10)
        """Biased by 127 more than the result's, so that it is not negative."""
        zero, special, nan = Signal(), Signal(), Signal()
        m.d.comb += [
            product.eq(Cat(fractions[0], C(1, 1)) * Cat(fractions[1], C(1, 1))),
            exponent.eq(exponents[0] + exponents[1] + product[15]),
            zero.eq((exponents[0] == 0) | (exponents[1] == 0)),
            special.eq((exponents[0] == 255) | (exponents[1] == 255)),
            nan.eq(
                special & zero | (exponents[0] == 255) & fractions[0].any() | (exponents[1] == 255) & fractions[1].any()
            ),
        ]
        sign = self.first[15] ^ self.second[15]
        fraction = Cat(C(0, 8), Mux(product[15], product[:15], Cat(C(0, 1), product[:14])))
        biased = Signal(8)
        m.d.comb += biased.eq(exponent - 127)
        infinite = special | (exponent >= 127 + 255)
        finite = Mux(zero | (exponent <= 127), C(0, 31), Cat(fraction, biased))
        magnitude = Mux(infinite, C(0xFF << 23, 31), finite)
        m.d.comb += self.result.eq(Mux(nan, C(0x7FC00000, 32), Cat(magnitude, sign)))
        return m
