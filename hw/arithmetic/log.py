"""Natural logarithm of an FP32 number, pipelined."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from hw.arithmetic.fp32_add import normalised
from hw.arithmetic.halves import multiplied
from hw.arithmetic.tabulated import Tabulated
from step.functions.log import LN_2, SUM_BITS, VALUE_BITS, slopes

WHOLE_BITS = 7
"""Bits of a logarithm without its fraction, which is below 89."""


class Log(Tabulated):
    """``result`` = ln(``value``), as `step.functions.log.log` does it, step by step."""

    cuts = (1, 4, 6, 8), (1, 2, 4, 6, 7, 8), (1, 2, 3, 4, 5, 6, 7, 8)
    products = 3, 5

    def compute(self, m: Module) -> Value:
        exponent, fraction, sign = self.value[23:31], self.value[:23], self.value[31]
        upper = fraction[22]
        huge, zero = exponent == 255, ~exponent.any()
        scale = Signal(9)
        m.d.comb += scale.eq(exponent + upper)
        distance = Signal(24)
        m.d.comb += distance.eq(Mux(upper, (1 << 23) - fraction, fraction << 1))
        # Steps 1 to 4: the slope.
        kept = {"less": upper ^ (exponent < 127), "sign": exponent < 127}
        kept |= {"scale": Mux(scale < 127, 127 - scale, scale - 127)[:8], "infinite": huge | zero}
        kept |= {"nan": (huge & fraction.any()) | (sign & ~zero)}
        x = self.read(m, 1, slopes(), fraction, distance=distance, **kept)
        # Steps 5 and 6: the logarithm of what is next to 1.
        x = multiplied(self, m, 5, x.distance, x.factor, **x.only(*kept))
        # Step 7: that of the power of two, which is larger if it is not zero, and both together.
        near, whole = x.product[24 + VALUE_BITS - SUM_BITS :], x.scale * C(LN_2, SUM_BITS)
        total = Mux(x.less, whole - near, whole + near)[: SUM_BITS + WHOLE_BITS]
        x = self.behind(m, 7, total=total, **x.only("sign", "infinite", "nan"))
        # Steps 8 and 9: normalise and round.
        normal, zeros = normalised(m, x.total, 32, 16, 8, 4, 2, 1)
        x = self.behind(m, 8, normal=normal, zeros=zeros, **x.only("sign", "infinite", "nan"))
        top = (127 + WHOLE_BITS - 1 - x.zeros).as_signed()
        ends = {"zero": ~x.normal[-1], "infinite": x.infinite}
        x = self.rounded(m, x.normal, top, 1, **ends, **x.only("nan", "sign"))
        return Mux(x.nan, C(0x7FC00000, 32), Cat(x.magnitude, x.sign))
