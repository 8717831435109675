"""GELU of an FP32 number, pipelined."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed

from hw.arithmetic.halves import multiplied
from hw.arithmetic.tabulated import Tabulated
from step.functions.exp import POSITION_BITS, VALUE_BITS, powers_of_two
from step.functions.gelu import LARGEST_EXPONENT, LOGARITHM_BITS, Form, logarithms

KEPT = "number", "exact"


class Gelu(Tabulated):
    """``result`` = gelu(``value``), as `step.functions.gelu.gelu` does it, step by step."""

    cuts = (
        (2, 5, 6, 9, 10, 12),
        (1, 2, 4, 5, 6, 9, 10, 12),
        (1, 2, 4, 5, 6, 8, 9, 10, 11, 12),
        (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
    )
    products = 4, 8, 11

    def __init__(self, stages: int, approximate: Form = "none") -> None:
        self.approximate: Form = approximate
        super().__init__(stages)
        self.parameters = {**self.parameters, "approximate": self.approximate}

    def compute(self, m: Module) -> Value:
        # Step 1: the place of the magnitude, and what the tables do not say.
        place, beyond, nan = self.place(m, self.value, LARGEST_EXPONENT)
        sign, zero = self.value[31], ~self.value[23:31].any() | (beyond & self.value[31])
        number = Mux(nan, C(0x7FC00000, 32), Mux(zero, Cat(C(0, 31), sign), self.value))
        x = self.behind(m, 1, place=place, number=number, exact=beyond | zero)
        # Steps 2 to 5: the logarithm.
        x = self.read(m, 2, logarithms(self.approximate), x.place, **x.only(*KEPT))
        places = POSITION_BITS - LOGARITHM_BITS[self.approximate]
        position = Signal(signed(len(x.factor) + 1 + places))
        m.d.comb += position.eq(-x.factor << places)
        # Steps 6 to 9: the power of two.
        halvings = ~position[POSITION_BITS:-1]
        x = self.read(m, 6, powers_of_two(), position[:POSITION_BITS], halvings=halvings, **x.only(*KEPT))
        # Steps 10 to 12: the mantissa times that, or times 1 less that.
        power = x.factor[: VALUE_BITS + 1]
        small = Mux(x.halvings[5:].any(), 0, power >> x.halvings[:5])
        whole = C(2 << VALUE_BITS, VALUE_BITS + 2)
        factor = Mux(x.number[31], power, (whole - small)[: VALUE_BITS + 2])
        exponent = (x.number[23:31] - Mux(x.number[31], x.halvings, 0)).as_signed()
        x = self.behind(m, 10, factor=factor, exponent=exponent, **x.only(*KEPT))
        x = multiplied(self, m, 11, Cat(x.number[:23], C(1, 1)), x.factor, **x.only("exponent", *KEPT))
        x = self.rounded(m, x.product[: 24 + VALUE_BITS + 1], x.exponent, 2, **x.only(*KEPT))
        return Mux(x.exact, x.number, Cat(x.magnitude, x.number[31]))
