"""Exact product of two BF16 numbers."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import C, Cat, Module, Mux, Signal

from hw.arithmetic.halves import factors
from hw.arithmetic.staged import Staged


class Bf16Multiply(Staged):
    """``result`` (FP32) = ``first`` * ``second`` (BF16), in at most two stages.

    Subnormal numbers are zeros, NaN is canonical. The product of two 8 bit mantissas fits FP32, so nothing is rounded.
    """

    cuts = (), (1,)

    inputs: ClassVar[dict[str, int]] = {"first": 16, "second": 16}

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        (first, second), others = factors(self.first, self.second)
        x = self.behind(m, 1, product=first * second, **others)
        exponent = Signal(10)
        biased = Signal(8)
        # Biased by 127 more than the result's, so that it is not negative.
        m.d.comb += [exponent.eq(x.exponent + x.product[15]), biased.eq(exponent - 127)]
        fraction = Cat(C(0, 8), Mux(x.product[15], x.product[:15], Cat(C(0, 1), x.product[:14])))
        infinite = x.infinite | (exponent >= 127 + 255)
        finite = Mux(x.zero | (exponent <= 127), C(0, 31), Cat(fraction, biased))
        magnitude = Mux(infinite, C(0xFF << 23, 31), finite)
        m.d.comb += self.result.eq(Mux(x.nan, C(0x7FC00000, 32), Cat(magnitude, x.sign)))
        return m
