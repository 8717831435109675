"""Odd functions that go to 1, of an FP32 number, pipelined."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

from amaranth.hdl import C, Cat, Module, Mux, Value

from hw.arithmetic.halves import multiplied
from hw.arithmetic.tabulated import Tabulated
from step.functions.tanh import LARGEST_EXPONENT, VALUE_BITS, slopes

KEPT = "number", "exact"


class Saturating(Tabulated):
    """``result`` = ``function``(``value``), as `step.functions.tanh.saturating` does it, step by step."""

    function: ClassVar[Callable[[float], float]]
    cuts = (2, 5), (2, 4, 5, 7), (1, 2, 4, 5, 6, 7), (1, 2, 3, 4, 5, 6, 7)
    products = 4, 6

    def compute(self, m: Module) -> Value:
        # Step 1: the place of the magnitude, and what the table does not say.
        place, beyond, nan = self.place(m, self.value, LARGEST_EXPONENT)
        sign, zero = self.value[31], ~self.value[23:31].any()
        one = Cat(C(0, 23), C(127, 8), sign)
        number = Mux(nan, C(0x7FC00000, 32), Mux(zero, Cat(C(0, 31), sign), Mux(beyond, one, self.value)))
        x = self.behind(m, 1, place=place, number=number, exact=beyond | zero)
        # Steps 2 to 5: the slope. Steps 6 and 7: the mantissa times that.
        x = self.read(m, 2, slopes(type(self).function), x.place, **x.only(*KEPT))
        x = multiplied(self, m, 6, Cat(x.number[:23], C(1, 1)), x.factor, **x.only(*KEPT))
        exponent = (x.number[23:31] + C(1, 2)).as_signed()  # that of the product's top bit
        x = self.rounded(m, x.product[: 24 + VALUE_BITS + 1], exponent, 5, **x.only(*KEPT))
        above = x.magnitude[23:30].all()
        result = Mux(above, C(127 << 23, 31), x.magnitude)
        return Mux(x.exact, x.number, Cat(result, x.number[31]))


class Tanh(Saturating):
    """``result`` = tanh(``value``)."""

    function = math.tanh


class Erf(Saturating):
    """``result`` = erf(``value``)."""

    function = math.erf
