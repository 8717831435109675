"""Product of two FP32 numbers."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hw.shared import Parametric


class Fp32Multiply(Parametric):
    """``result`` = ``first`` * ``second``, combinational, rounded to nearest even.

    Subnormal numbers are zeros, in and out (decided behind the rounding); NaN is canonical.
    """

    clocked = False
    parameters = ()

    def __init__(self) -> None:
        super().__init__({"first": In(32), "second": In(32), "result": Out(32)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        exponents = self.first[23:31], self.second[23:31]
        fractions = self.first[:23], self.second[:23]
        product = Signal(48)
        normal = Signal(48)
        rounded = Signal(33)
        """Exponent, biased by 127 more than the result's, and fraction."""
        zero, special, nan = Signal(), Signal(), Signal()
        m.d.comb += [
            product.eq(Cat(fractions[0], C(1, 1)) * Cat(fractions[1], C(1, 1))),
            normal.eq(Mux(product[47], product, Cat(C(0, 1), product[:47]))),
            zero.eq((exponents[0] == 0) | (exponents[1] == 0)),
            special.eq((exponents[0] == 255) | (exponents[1] == 255)),
            nan.eq(
                special & zero | (exponents[0] == 255) & fractions[0].any() | (exponents[1] == 255) & fractions[1].any()
            ),
        ]
        round_up = normal[23] & (normal[:23].any() | normal[24])
        m.d.comb += rounded.eq(Cat(normal[24:47], exponents[0] + exponents[1] + product[47]) + round_up)
        exponent = rounded[23:]
        biased = Signal(8)
        m.d.comb += biased.eq(exponent - 127)
        sign = self.first[31] ^ self.second[31]
        infinite = special | (exponent >= 127 + 255)
        finite = Mux(zero | (exponent <= 127), C(0, 31), Cat(rounded[:23], biased))
        magnitude = Mux(infinite, C(0xFF << 23, 31), finite)
        m.d.comb += self.result.eq(Mux(nan, C(0x7FC00000, 32), Cat(magnitude, sign)))
        return m
