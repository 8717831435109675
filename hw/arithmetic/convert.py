"""Conversions between formats with a fraction, and how bits of a format are read."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from hw.arithmetic.staged import Staged, placed
from hw.arithmetic.stored import NumberLayout, narrowed, widened
from step.language.dtypes import BF16, FP32, DType


def as_fp32(value: Value, dtype: DType) -> Value:
    """The same number, of BF16 or FP32, in FP32: wires only, subnormal numbers and NaN stay as they are."""
    return value if dtype is FP32 else Cat(C(0, 16), value)


def as_integer(value: Value, dtype: DType) -> Value:
    """The bits of an integer as a number, signed if the format is."""
    return value.as_signed() if dtype.is_signed else value.as_unsigned()


def converted(m: Module, name: str, value: Value, source: DType, out: DType, *, saturate: bool = False) -> Value:
    """Place a `Convert` called ``name``; returns ``value`` in the format ``out``."""
    return placed(m, name, Convert(source, out, saturate=saturate), value)


class Convert(Staged):
    """``result`` (format ``out``) = ``value`` (format ``source``), combinational, rounded to nearest even.

    Subnormal numbers of BF16 and FP32 become zeros, NaN canonical, also where the format stays. See `narrowed` for
    ``saturate``.
    """

    cuts = ((),)

    def __init__(self, source: DType, out: DType, *, saturate: bool = False) -> None:
        self.source, self.out, self.saturate = source, out, saturate
        super().__init__(1, {"value": source.bits}, result=out.bits)
        self.parameters = {"from": self.source, "to": self.out, "saturate": self.saturate}

    def compute(self, m: Module) -> Value:
        value = Signal(32)
        given = widened(m, self.value, self.source) if self.source.is_stored else as_fp32(self.value, self.source)
        m.d.comb += value.eq(given)
        exponent, fraction = value[23:31], value[:23]
        kept = value
        nan = C(0x7FC00000, 32)
        if self.out is BF16:
            rounded = Signal(17)
            # Half of the last place, less a bit where the last place is even: a tie then stays below it.
            m.d.comb += rounded.eq((value + 0x7FFF + value[16]) >> 16)
            kept, nan = rounded[:16], C(0x7FC0, 16)
        elif self.out.is_stored:
            kept = narrowed(m, value, self.out, saturate=self.saturate)
            nan = C(NumberLayout.of(self.out).nan, self.out.bits)
        zero = Cat(C(0, self.out.bits - 1), value[31])
        number = Mux(exponent == 0, zero, kept)
        return Mux((exponent == 255) & fraction.any(), nan, number)
