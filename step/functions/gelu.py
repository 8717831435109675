"""GELU, x * Phi(x) with the distribution function Phi of the normal distribution, by two tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from step.functions.exp import POSITION_BITS, VALUE_BITS, powers_of_two
from step.language import numerics
from step.language.dtypes import DType
from step.language.scalars import Elementwise
from step.language.table import Table, lines

LARGEST_EXPONENT = 3
"""Numbers below 2^4 have a place in the table; from there on Phi is 0 or 1."""

SEGMENT_BITS, STEP_BITS = 6, 14
"""A unit of |x| has 2^SEGMENT_BITS segments, and a segment 2^STEP_BITS places; further bits of |x| do not count."""

LOGARITHM_BITS = 18
"""Fraction bits of a logarithm."""


@cache
def logarithms() -> Table:
    """-log2(Phi(-a)) for 0 <= a < 16."""
    ends = (end / 2**SEGMENT_BITS for end in range((2 << LARGEST_EXPONENT + SEGMENT_BITS) + 1))
    points = (round(-math.log2(math.erfc(end / math.sqrt(2)) / 2) * 2**LOGARITHM_BITS) for end in ends)
    return Table(tuple(lines(points)), STEP_BITS)


def gelu(values: np.ndarray) -> np.ndarray:
    """GELU of flushed FP32 numbers, in integers as the RTL does it; NaN not canonical yet.

    1. s = log2(Phi(-abs(x))) from the table, linear within a segment, truncated to `LOGARITHM_BITS` fraction bits;
    2. Phi(-abs(x)) = 2^s from the table of `Exp`; for positive x it is taken from 1 (`VALUE_BITS` + 1 bits);
    3. the mantissa of x times that, rounded once to FP32 (subnormal: zero).
    """
    bits = values.view(np.uint32).astype(np.int64)
    negative = bits >> 31 != 0
    exponent = (bits >> 23 & 0xFF) - 127
    mantissa = bits & 0x7FFFFF | 0x800000
    place = mantissa >> np.clip(LARGEST_EXPONENT - exponent, 0, 63)
    logarithm = logarithms().read(place >> STEP_BITS, place & (1 << STEP_BITS) - 1)
    s = -logarithm << POSITION_BITS - LOGARITHM_BITS
    fraction, step_bits = s & (1 << POSITION_BITS) - 1, powers_of_two().step_bits
    power = powers_of_two().read(fraction >> step_bits, fraction & (1 << step_bits) - 1)
    halvings = -1 - (s >> POSITION_BITS)
    factor = np.where(negative, power, (2 << VALUE_BITS) - (power >> np.minimum(halvings, 63)))
    scaled = np.ldexp(
        (mantissa * factor).astype(np.float64), exponent - 23 - VALUE_BITS - 1 - np.where(negative, halvings, 0)
    )
    rounded = numerics.from_float64(np.where(negative, -scaled, scaled))
    beyond = np.where(negative, np.float32(-0.0), values)
    result = np.where(exponent > LARGEST_EXPONENT, beyond, rounded)
    return np.where(np.isnan(values) | (values == 0), values, result)


@dataclass(frozen=True)
class Gelu(Elementwise):
    """x * Phi(x) of every scalar of a BF16 or FP32 tile (the form with erf); 8 FLOPs per scalar.

    ``out`` is BF16 or FP32, by default the type of the input; computed in FP32 and then rounded to ``out``.

    Accuracy against float64: 0.51 BF16 ULP at most over all BF16 inputs with a BF16 result; a relative error of 4e-5
    at most with an FP32 result. Where the exact result is subnormal, the result is a zero.
    """

    out: DType | None = None
    cost = 8

    def combine(self, value: np.ndarray) -> np.ndarray:
        return gelu(value)
