"""Hyperbolic tangent of an FP32 number, pipelined."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Value

from hw.arithmetic.halves import multiplied
from hw.arithmetic.tabulated import Tabulated, rounded
from step.functions.tanh import LARGEST_EXPONENT, VALUE_BITS, slopes

KEPT = "number", "exact"


class Tanh(Tabulated):
    """``result`` = tanh(``value``), as `step.functions.tanh.tanh` does it, step by step."""

    cuts = (2, 5), (2, 4, 5, 7), (1, 2, 4, 5, 6, 7), (1, 2, 3, 4, 5, 6, 7)

    def compute(self, m: Module) -> Value:
        # Step 1: the place of the magnitude, and what the table does not say.
        place, beyond, nan = self.place(m, self.value, LARGEST_EXPONENT)
        sign, zero = self.value[31], ~self.value[23:31].any()
        one = Cat(C(0, 23), C(127, 8), sign)
        x = self.behind(
            m,
            1,
            place=place,
            number=Mux(nan, C(0x7FC00000, 32), Mux(zero, Cat(C(0, 31), sign), Mux(beyond, one, self.value))),
            exact=beyond | zero,
        )
        # Steps 2 to 5: the slope. Steps 6 and 7: the mantissa times that.
        x = self.read(m, 2, slopes(), x.place, **x.only(*KEPT))
        x = multiplied(self, m, 6, Cat(x.number[:23], C(1, 1)), x.factor, **x.only(*KEPT))
        exponent = (x.number[23:31] + C(1, 2)).as_signed()  # that of the product's top bit
        magnitude = rounded(m, x.product[: 24 + VALUE_BITS + 1], exponent, 5)
        above = magnitude[23:30].all()
        result = Mux(above, C(127 << 23, 31), magnitude)
        return Mux(x.exact, x.number, Cat(result, x.number[31]))
