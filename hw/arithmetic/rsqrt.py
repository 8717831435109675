"""Square root of an FP32 number and its reciprocal, pipelined."""

from __future__ import annotations

import abc
from typing import ClassVar

from amaranth.hdl import C, Cat, Module, Mux, Value

from hw.arithmetic.staged import Values
from hw.arithmetic.tabulated import Tabulated, rounded
from step.functions.rsqrt import powers


class Root(Tabulated):
    """``result`` = ``value`` to the ``power``, as `step.functions.rsqrt` does it, step by step."""

    cuts = (1,), (1, 4), (1, 2, 4), (1, 2, 3, 4)
    power: ClassVar[float]

    def compute(self, m: Module) -> Value:
        exponent, fraction, sign = self.value[23:31], self.value[:23], self.value[31]
        half = (exponent + 1)[1:]  # of the exponent, rounded down, and biased by 64
        nan = ((exponent == 255) & fraction.any()) | (sign & exponent.any())
        kept = {"half": half, "sign": sign, "zero": ~exponent.any(), "infinite": exponent == 255, "nan": nan}
        x = self.read(m, 1, powers(self.power), fraction, ~exponent[0], **kept)  # the bias is odd
        return Mux(x.nan, C(0x7FC00000, 32), Cat(self.magnitude(m, x), x.sign))

    @abc.abstractmethod
    def magnitude(self, m: Module, x: Values) -> Value:
        """The result without its sign, by what was read."""


class Rsqrt(Root):
    """``result`` = 1 / sqrt(``value``)."""

    power = -0.5

    def magnitude(self, m: Module, x: Values) -> Value:
        return rounded(m, x.factor, (127 + 64 - x.half).as_signed(), 2, zero=x.infinite, infinite=x.zero)


class Sqrt(Root):
    """``result`` = sqrt(``value``)."""

    power = 0.5

    def magnitude(self, m: Module, x: Values) -> Value:
        return rounded(m, x.factor, Cat(x.half + (127 - 64), C(0, 1)).as_signed(), 1, zero=x.zero, infinite=x.infinite)
