"""Square root of an FP32 number and its reciprocal, pipelined."""

from __future__ import annotations

import abc
from typing import ClassVar

from amaranth.hdl import C, Cat, Module, Mux, Value

from hw.arithmetic.staged import Values
from hw.arithmetic.tabulated import Tabulated
from step.functions.rsqrt import powers


class Root(Tabulated):
    """``result`` = ``value`` to the ``power``, as `step.functions.rsqrt` does it, step by step."""

    cuts = (1,), (1, 4), (1, 2, 4), (1, 2, 3, 4)
    products = (3,)
    power: ClassVar[float]

    def compute(self, m: Module) -> Value:
        exponent, fraction, sign = self.value[23:31], self.value[:23], self.value[31]
        half = (exponent + 1)[1:]  # of the exponent, rounded down, and biased by 64
        nan = ((exponent == 255) & fraction.any()) | (sign & exponent.any())
        kept = {"half": half, "sign": sign, "zero": ~exponent.any(), "infinite": exponent == 255, "nan": nan}
        x = self.read(m, 1, powers(self.power), fraction, ~exponent[0], **kept)  # the bias is odd
        x = self.rounded_root(m, x)
        return Mux(x.nan, C(0x7FC00000, 32), Cat(x.magnitude, x.sign))

    @abc.abstractmethod
    def rounded_root(self, m: Module, x: Values) -> Values:
        """`rounded`, by what was read, with ``nan`` and ``sign``."""


class Rsqrt(Root):
    """``result`` = 1 / sqrt(``value``)."""

    power = -0.5

    def rounded_root(self, m: Module, x: Values) -> Values:
        ends = {"zero": x.infinite, "infinite": x.zero}
        return self.rounded(m, x.factor, (127 + 64 - x.half).as_signed(), 2, **ends, **x.only("nan", "sign"))


class Sqrt(Root):
    """``result`` = sqrt(``value``)."""

    power = 0.5

    def rounded_root(self, m: Module, x: Values) -> Values:
        exponent = Cat(x.half + (127 - 64), C(0, 1)).as_signed()
        return self.rounded(m, x.factor, exponent, 1, **x.only("zero", "infinite", "nan", "sign"))
