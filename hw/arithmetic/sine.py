"""Sine and cosine of an FP32 number, pipelined."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from hw.arithmetic.fp32_add import normalised
from hw.arithmetic.halves import HALF
from hw.arithmetic.staged import Values
from hw.arithmetic.tabulated import Tabulated
from step.functions.sine import PLACE_BITS, PRODUCT_BITS, SMALLEST_EXPONENT, TURN_BITS, VALUE_BITS, slopes, turns

KEPT = "sign", "number", "exact"

PART = 18
"""Bits of a factor that a multiplier of an FPGA takes."""


class Sine(Tabulated):
    """``result`` = sin(``value``), so many quarters of a turn later, as `step.functions.sine` does it, step by step."""

    cuts = (1, 4, 7, 9), (1, 3, 4, 5, 7, 9), (1, 2, 3, 4, 5, 7, 9, 10), (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    products = 2, 6, 8
    quarter: ClassVar[int]

    def compute(self, m: Module) -> Value:
        exponent, fraction, sign = self.value[23:31], self.value[:23], self.value[31]
        small = (exponent < 127 + SMALLEST_EXPONENT) & (self.quarter == 0)
        zero = Cat(C(0, 31), sign)
        number = Mux(exponent.all(), C(0x7FC00000, 32), Mux(exponent.any(), self.value, zero))
        # Step 1: turns of a unit of the mantissa. Steps 2 and 3: of all of it.
        unit = self.item(m, 1, turns().tolist(), TURN_BITS, exponent)
        kept = {"sign": sign & (self.quarter == 0), "number": number, "exact": small | exponent.all()}
        x = self.behind(m, 1, mantissa=Cat(fraction, C(1, 1)), **kept)
        x = self.multiplied(m, 2, x.mantissa, unit, **x.only(*KEPT))
        # Steps 4 to 7: the slope at the place in the quarter.
        quadrant = Signal(2)
        place = Signal(PLACE_BITS)
        m.d.comb += [
            quadrant.eq(x.product[TURN_BITS - 2 : TURN_BITS] + self.quarter),
            place.eq(x.product[TURN_BITS - 2 - PLACE_BITS :] ^ quadrant[0].replicate(PLACE_BITS)),
        ]
        kept = {**x.only("number", "exact"), "sign": x.sign ^ quadrant[1], "whole": place}
        x = self.read(m, 4, slopes(), place[PLACE_BITS - 23 :], **kept)
        # Steps 8 and 9: the product of both. Steps 10 and 11: normalise and round.
        x = self.multiplied(m, 8, x.factor, x.whole, **x.only(*KEPT))
        product = x.product[PLACE_BITS + VALUE_BITS - PRODUCT_BITS :][: PRODUCT_BITS + 1]
        normal, zeros = normalised(m, product, 32, 16, 8, 4, 2, 1)
        x = self.behind(m, 10, normal=normal, zeros=zeros, **x.only(*KEPT))
        exponent = (127 - x.zeros).as_signed()
        x = self.rounded(m, x.normal, exponent, 1, zero=~x.normal[-1], **x.only(*KEPT))
        one = x.magnitude[23:30].all()
        return Mux(x.exact, x.number, Cat(Mux(one, C(127 << 23, 31), x.magnitude), x.sign))

    def multiplied(self, m: Module, step: int, first: Value, second: Value, **kept: Value) -> Values:
        """``step`` and the next one: the ``product``, in parts that fit multipliers, and what is ``kept``."""
        places = [(low, at) for low in (0, HALF) for at in range(0, len(second), PART)]
        x = self.within(m, step, first=first, second=second, **kept)
        parts = {f"part_{low}_{at}": x.first[low:][: HALF + low] * x.second[at:][:PART] for low, at in places}
        x = self.behind(m, step, **parts, **x.only(*kept))
        product = Signal(len(first) + len(second), name=f"product_of_{step}")
        shifted = [Cat(C(0, low + at), getattr(x, f"part_{low}_{at}")) for low, at in places]
        m.d.comb += product.eq(sum(shifted[1:], shifted[0]))
        return self.behind(m, step + 1, product=product, **x.only(*kept))


class Sin(Sine):
    """``result`` = sin(``value``)."""

    quarter = 0


class Cos(Sine):
    """``result`` = cos(``value``)."""

    quarter = 1
