"""Conversions between FP32 and integers."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from hw.arithmetic.convert import as_integer
from hw.arithmetic.fp32_add import normalised, shifted_down
from hw.arithmetic.staged import Staged
from step.language.dtypes import DType


class FromInteger(Staged):
    """``result`` (FP32) = ``value`` (an integer of ``source``), rounded to nearest even, in at most three stages."""

    cuts = (), (2,), (1, 2)

    def __init__(self, source: DType, stages: int) -> None:
        self.source = source
        super().__init__(stages, {"value": source.bits})
        self.parameters = {"from": self.source, "stages": self.stages}

    def compute(self, m: Module) -> Value:
        number = as_integer(self.value, self.source)
        negative = self.value[-1] & self.source.is_signed
        magnitude = Signal(32)
        m.d.comb += magnitude.eq(Mux(negative, -number, number))
        x = self.behind(m, 1, magnitude=magnitude, negative=negative)
        normal, zeros = normalised(m, x.magnitude, 16, 8, 4, 2, 1)
        x = self.behind(m, 2, normal=normal, zeros=zeros, negative=x.negative)
        rounded = Signal(31)
        up = x.normal[7] & (x.normal[:7].any() | x.normal[8])
        # Exponent and fraction in one number, so that a carry out of the fraction reaches the exponent.
        m.d.comb += rounded.eq(Cat(x.normal[8:31], (127 + 31 - x.zeros)[:8]) + up)
        return Mux(x.normal[31], Cat(rounded, x.negative), 0)


class ToInteger(Staged):
    """``result`` (an integer of ``out``) = ``value`` (FP32) rounded to nearest even, in at most three stages.

    What the format does not hold becomes the nearest number that it does, NaN 0.
    """

    cuts = (), (1,), (1, 2)

    def __init__(self, out: DType, stages: int) -> None:
        self.out = out
        super().__init__(stages, result=out.bits)
        self.parameters = {"to": self.out, "stages": self.stages}

    def compute(self, m: Module) -> Value:
        exponent, fraction, negative = self.value[23:31], self.value[:23], self.value[31]
        largest = 127 + 31  # the biased exponent of numbers from 2^31 on, which stay where they are
        distance = Signal(8)
        m.d.comb += distance.eq(largest - exponent)
        # 32 bits, a guard, and whether anything is below.
        shifted, lost = shifted_down(m, Cat(C(0, 10), fraction, C(1, 1)), distance, 0, 6)
        small = distance[6:].any()
        up = ~small & shifted[1] & (shifted[0] | lost.any() | shifted[2])
        kept = {"huge": exponent > largest, "nan": (exponent == 255) & fraction.any(), "negative": negative}
        x = self.behind(m, 1, whole=Mux(small, 0, shifted[2:]), up=up, **kept)
        magnitude = Signal(33)
        m.d.comb += magnitude.eq(x.whole + x.up)
        x = self.behind(m, 2, magnitude=magnitude, **x.only(*kept))
        bits, signed = self.out.bits, self.out.is_signed
        most = (1 << bits - signed) - 1
        least = 1 << bits - 1 if signed else 0
        beyond = x.huge | Mux(x.negative, x.magnitude > least, x.magnitude > most)
        kept = Mux(x.negative, -x.magnitude, x.magnitude)[:bits]
        limit = Mux(x.negative, C(-least, bits), C(most, bits))
        return Mux(x.nan, 0, Mux(beyond, limit, kept))
