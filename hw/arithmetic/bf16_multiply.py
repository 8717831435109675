"""Exact product of two BF16 numbers."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import C, Cat, Module, Mux, Value

from hw.arithmetic.halves import factors, finished
from hw.arithmetic.staged import Staged


class Bf16Multiply(Staged):
    """``result`` (FP32) = ``first`` * ``second`` (BF16), in at most two stages.

    Subnormal numbers are zeros, NaN is canonical. The product of two 8 bit mantissas fits FP32, so nothing is rounded.
    """

    cuts = (), (1,)

    inputs: ClassVar[dict[str, int]] = {"first": 16, "second": 16}

    def compute(self, m: Module) -> Value:
        (first, second), others = factors(self.first, self.second)
        x = self.behind(m, 1, product=first * second, **others)
        e, top = x.exponent, x.product[15]
        fraction = Cat(C(0, 8), Mux(top, x.product[:15], Cat(C(0, 1), x.product[:14])))
        # Of e + top, which comes late, without a carry of that: - 127, <= 127, >= 382.
        exponent = (e + Cat(~top, top, C(0b100000, 6)))[:8]
        small = ~e[7:].any() & ~(e[:7].all() & top)
        large = e[8] & (e[7] | (e[2:7].all() & (e[1] | (e[0] & top))))
        return finished(x, fraction, exponent, small, large)
