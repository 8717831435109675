"""Exponential of an FP32 number, pipelined."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed

from hw.arithmetic.tabulated import HUGE, Tabulated
from step.functions.exp import POSITION_BITS, VALUE_BITS, powers_of_two


class Exp(Tabulated):
    """``result`` = e^``value``, as `step.functions.exp.exp` does it, step by step."""

    cuts = (2, 4, 7), (2, 4, 5, 7), (1, 2, 4, 5, 7), (1, 2, 3, 4, 5, 7)
    products = 1, 6

    def compute(self, m: Module) -> Value:
        x = self.locate(m, self.value)
        exponent, fraction, sign = x.number[23:31], x.number[:23], x.number[31]
        position = Signal(signed(len(x.magnitude) + 1))
        m.d.comb += position.eq(Mux(sign, -x.magnitude, x.magnitude))
        nan = (exponent == 255) & fraction.any()
        kept = {"row": position >> POSITION_BITS, "sign": sign, "huge": exponent > HUGE, "nan": nan}
        x = self.read(m, 4, powers_of_two(), position[:POSITION_BITS], **kept)
        exponent = (x.row + 127)[: len(x.row) + 1].as_signed()
        ends = {"zero": x.huge & x.sign, "infinite": x.huge & ~x.sign}
        x = self.rounded(m, x.factor[: VALUE_BITS + 1], exponent, 1, **ends, nan=x.nan)
        magnitude = Mux(x.nan, C(0x7FC00000, 31), x.magnitude)
        return Cat(magnitude, C(0, 1))
