"""Comparisons of two numbers in FP32, whose bits are as they came: subnormal numbers are zeros, NaN any of them."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value


@dataclass(frozen=True)
class Number:
    """The bits of a number with what they say."""

    bits: Value
    zero: Value
    nan: Value

    @classmethod
    def of(cls, m: Module, name: str, bits: Value) -> Number:
        """The number of ``bits``; what else is known of it are signals called ``name``."""
        zero, nan = Signal(name=f"{name}_zero"), Signal(name=f"{name}_nan")
        m.d.comb += [zero.eq(~bits[23:31].any()), nan.eq(bits[23:31].all() & bits[:23].any())]
        return cls(bits, zero, nan)

    @property
    def sign(self) -> Value:
        return self.bits[31]


def below(first: Number, second: Number, *, same: Value, zeros: Value) -> Value:
    """Whether ``first`` < ``second``, neither of which is NaN; ``zeros``: what it is where both are zeros.

    ``same``: the bits are the same but for the sign; where these two are as good as each other, it may be said not.
    """
    smaller = first.bits[:31] < second.bits[:31]
    number = Mux(first.sign ^ second.sign, first.sign, (smaller ^ first.sign) & ~same)
    return Mux(first.zero & second.zero, zeros, number)


def flushed(m: Module, name: str, at: Value, *numbers: Number) -> Value:
    """The one of two ``numbers`` that ``at`` says, with zeros and NaN as they are written.

    Of both only the fraction differs from the bits, and the sign and the highest bit of NaN.
    """
    bits, zero, nan = (Signal(each, name=f"{name}_{of}") for of, each in (("bits", 32), ("zero", 1), ("nan", 1)))
    first, second = numbers
    m.d.comb += [
        bits.eq(Mux(at, second.bits, first.bits)),
        zero.eq(Mux(at, second.zero, first.zero)),
        nan.eq(Mux(at, second.nan, first.nan)),
    ]
    fraction = Mux(zero | nan, C(0, 22), bits[:22])
    return Cat(fraction, (bits[22] & ~zero) | nan, bits[23:31], bits[31] & ~nan)
