"""Product of two integers."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Value

from hw.arithmetic.convert import as_integer
from hw.arithmetic.staged import Staged
from step.language.dtypes import DType

HALF = 16

WIDEST = 18
"""Bits of the operands of an FPGA's multiplier."""


class IntegerMultiply(Staged):
    """``result`` (``out``) = the lowest bits of ``first`` * ``second`` (in their formats), in at most two stages."""

    cuts = (), (1,)

    def __init__(self, first: DType, second: DType, out: DType, stages: int) -> None:
        self.formats, self.out = (first, second), out
        super().__init__(stages, {"first": first.bits, "second": second.bits}, result=out.bits)
        self.parameters = {"factors": self.formats, "to": self.out, "stages": self.stages}

    def compute(self, m: Module) -> Value:
        bits = self.out.bits
        operands = zip((self.first, self.second), self.formats, strict=True)
        first, second = (
            as_integer(value, dtype)[:bits] if dtype.bits > bits else as_integer(value, dtype)
            for value, dtype in operands
        )
        if len(first) <= WIDEST and len(second) <= WIDEST:
            x = self.behind(m, 1, product=first * second)
            return x.product
        # The product of the upper halves is too large to count.
        one, other = ((each + C(0, bits))[:bits] for each in (first, second))
        crosses = one[:HALF] * other[HALF:], one[HALF:] * other[:HALF]
        cross, crossed = (each[: bits - HALF] for each in crosses)
        x = self.behind(m, 1, low=one[:HALF] * other[:HALF], cross=cross, crossed=crossed)
        return x.low + Cat(C(0, HALF), x.cross + x.crossed)
