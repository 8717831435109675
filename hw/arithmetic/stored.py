"""Formats that are only stored, FP16 and FP8: from and to FP32, in wires."""

from __future__ import annotations

from typing import NamedTuple

import ml_dtypes
import numpy as np
from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from step.language.dtypes import FP8_E4M3, DType

_BIAS = 127


class NumberLayout(NamedTuple):
    """A format with a sign, an exponent, and so many bits of ``fraction``.

    ``rebias``: excess of the exponent of FP32. ``beyond``: the pattern behind that of the largest number, an infinity,
    or NaN of a format that has none; ``nan``: that of the canonical one.
    """

    fraction: int
    rebias: int
    beyond: int
    nan: int

    @classmethod
    def of(cls, dtype: DType) -> NumberLayout:
        """The layout of ``dtype``."""
        info = ml_dtypes.finfo(dtype.numpy)
        largest, nan = (int(np.array(each, dtype.numpy).view(f"u{dtype.bytes}")) for each in (info.max, np.nan))
        return cls(int(info.nmant), _BIAS - (1 << int(info.nexp) - 1) + 1, largest + 1, nan)


def widened(m: Module, value: Value, dtype: DType) -> Value:
    """The same number in FP32: exact, NaN with the bits that it has."""
    layout = NumberLayout.of(dtype)
    fraction, exponent = value[: layout.fraction], value[layout.fraction : -1]
    wide = Signal(31, name="wide")
    number = Cat(C(0, 23 - layout.fraction), value[:-1])
    m.d.comb += wide.eq(number + (layout.rebias << 23))
    with m.If(exponent == 0):
        m.d.comb += wide.eq(0)
        for place in range(layout.fraction):  # the highest bit that is set is the last one to say
            with m.If(fraction[place]):
                above = Cat(C(0, 23 - place), fraction[:place]) if place else C(0, 23)
                m.d.comb += wide.eq(Cat(above, C(layout.rebias + 1 - layout.fraction + place, 8)))
    with m.Elif(value[:-1] >= layout.beyond):
        special = 0x7FC00000 if dtype is FP8_E4M3 else (255 << 23)
        m.d.comb += wide.eq(special | number[:23])
    return Cat(wide, value[-1])


def narrowed(m: Module, value: Value, dtype: DType, *, saturate: bool) -> Value:
    """The FP32 number ``value``, which is no NaN, rounded to nearest even; subnormal ones of FP32 become zeros.

    What is beyond the largest number is that where it shall ``saturate``, else `NumberLayout.beyond`.
    """
    layout = NumberLayout.of(dtype)
    fraction, exponent, cut = value[:23], value[23:31], 23 - layout.fraction
    # Below the normal numbers the hidden bit is shifted into the fraction; what is further down is less than a half.
    below = Signal(range(layout.fraction + 3), name="below")
    deep = layout.fraction + 2
    with m.If(exponent < layout.rebias + 1 - deep):
        m.d.comb += below.eq(deep)
    with m.Elif(exponent <= layout.rebias):
        m.d.comb += below.eq(layout.rebias + 1 - exponent)
    whole, shifted = Signal(24 + deep, name="whole"), Signal(24 + deep, name="shifted")
    m.d.comb += [whole.eq(Cat(C(0, deep), fraction, exponent != 0)), shifted.eq(whole >> below)]
    exact = Signal(31, name="exact")
    m.d.comb += exact.eq(Cat(fraction, exponent) - (layout.rebias << 23))
    with m.If(exponent <= layout.rebias):
        m.d.comb += exact.eq(Cat(shifted[:deep].any() | shifted[deep], shifted[deep + 1 : -1]))
    # Half of the last place, less a bit where the last place is even: a tie then stays below it.
    rounded = Signal(32 - cut, name="rounded")
    m.d.comb += rounded.eq((exact + ((1 << cut - 1) - 1) + exact[cut]) >> cut)
    beyond = rounded >= layout.beyond
    result = Mux(beyond, layout.beyond - saturate, rounded[: dtype.bits - 1])
    sign = value[31] if saturate or layout.beyond != layout.nan else value[31] & ~beyond
    return Cat(result[: dtype.bits - 1], sign)
