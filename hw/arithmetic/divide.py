"""Reciprocal and quotient of FP32 numbers, pipelined."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import C, Cat, Module, Mux, Value

from hw.arithmetic.halves import multiplied
from hw.arithmetic.tabulated import Tabulated
from step.functions.reciprocal import reciprocals

NAN = 0x7FC00000


class Reciprocal(Tabulated):
    """``result`` = 1 / ``value``, as `step.functions.reciprocal.divide` does it, step by step."""

    cuts = (1,), (1, 4), (1, 2, 4), (1, 2, 3, 4)
    products = (3,)

    def compute(self, m: Module) -> Value:
        exponent, fraction, sign = self.value[23:31], self.value[:23], self.value[31]
        nan = (exponent == 255) & fraction.any()
        x = self.read(m, 1, reciprocals(), fraction, exponent=exponent, sign=sign, nan=nan)
        ends = {"zero": x.exponent.all(), "infinite": ~x.exponent.any()}
        x = self.rounded(m, x.factor, (254 - x.exponent).as_signed(), 2, **ends, **x.only("nan", "sign"))
        return Mux(x.nan, C(NAN, 32), Cat(x.magnitude, x.sign))


class Divide(Tabulated):
    """``result`` = ``first`` / ``second``, as `step.functions.reciprocal.divide` does it, step by step."""

    cuts = (1, 4, 6), (1, 2, 4, 6), (1, 2, 4, 5, 6), (1, 2, 3, 4, 5, 6)
    products = 3, 6

    inputs: ClassVar[dict[str, int]] = {"first": 32, "second": 32}

    def compute(self, m: Module) -> Value:
        exponents = self.first[23:31], self.second[23:31]
        fractions = self.first[:23], self.second[:23]
        zeros = [~each.any() for each in exponents]
        huge = [each == 255 for each in exponents]
        nans = [is_huge & fraction.any() for is_huge, fraction in zip(huge, fractions, strict=True)]
        nan = nans[0] | nans[1] | (zeros[0] & zeros[1]) | (huge[0] & huge[1])
        kept = {"exponent": (exponents[0] - exponents[1]).as_signed(), "sign": self.first[31] ^ self.second[31]}
        kept |= {"zero": zeros[0] | huge[1], "infinite": huge[0] | zeros[1], "nan": nan}
        x = self.read(m, 1, reciprocals(), fractions[1], fraction=fractions[0], **kept)
        x = multiplied(self, m, 5, Cat(x.fraction, C(1, 1)), x.factor, **x.only(*kept))
        exponent = (x.exponent + 128).as_signed()
        x = self.rounded(m, x.product, exponent, 3, **x.only("zero", "infinite", "nan", "sign"))
        return Mux(x.nan, C(NAN, 32), Cat(x.magnitude, x.sign))
