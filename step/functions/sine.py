"""Sines and cosines, by a table of turns and one of slopes."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import sympy

from step.language import numerics
from step.language.scalars import Rounded
from step.language.table import Table, segments

TURN_BITS = 54
"""Fraction bits of a number of turns, which is an angle over 2 pi without whole ones."""

PLACE_BITS = 32
"""Bits of a place in a quarter of a turn, the upper ones of what is left."""

PRODUCT_BITS = 52
"""Fraction bits of a sine before it is rounded."""

SEGMENT_BITS, VALUE_BITS = 9, 24
"""A quarter of a turn has 2^SEGMENT_BITS segments; fraction bits of a table value."""

SMALLEST_EXPONENT = -9
"""Numbers below 2^-9 are their own sines."""


@cache
def turns() -> np.ndarray:
    """2^(e - 23) / (2 pi) without whole turns, for every biased exponent e, so that all numbers are reduced alike."""
    most = 256
    per_radian = int(sympy.floor(2**most / (2 * sympy.pi)))
    scaled = [per_radian << biased >> 127 + 23 + most - TURN_BITS for biased in range(256)]
    return np.array([each % (1 << TURN_BITS) for each in scaled])


@cache
def slopes() -> Table:
    """sin(r pi / 2) / r for 0 <= r < 1."""
    quarter = math.pi / 2
    slope = segments(lambda r: math.sin(r * quarter) / r if r else quarter, 1 << SEGMENT_BITS, VALUE_BITS)
    return Table(tuple(slope), 23 - SEGMENT_BITS)


def _sine(values: np.ndarray, quarter: int) -> np.ndarray:
    """The sine of abs(x) and so many quarters of a turn, of flushed FP32 numbers, in integers as the RTL does it.

    1. the mantissa times `turns`, of which whole ones fall off: `TURN_BITS` bits, and ``quarter``;
    2. their two upper bits are the quarter of the turn, which runs backwards if it is odd, and is negative from 2 on;
    3. the `PLACE_BITS` bits below, r, times the slope, which comes from the table, linear within a segment, truncated
       to `VALUE_BITS` fraction bits; cut to `PRODUCT_BITS` fraction bits, rounded once to FP32; 1 at most.
    """
    _, exponent, mantissa = numerics.parts(values)
    turned = mantissa * turns()[exponent + 127] + (quarter << TURN_BITS - 2)  # wraps around, as whole turns do
    backwards, below = turned >> TURN_BITS - 2 & 1, turned >> TURN_BITS - 1 & 1
    place = (turned ^ -backwards) >> TURN_BITS - 2 - PLACE_BITS & (1 << PLACE_BITS) - 1
    product = place * slopes().read(place >> PLACE_BITS - 23) >> PLACE_BITS + VALUE_BITS - PRODUCT_BITS
    sine = np.minimum(1, np.ldexp(product.astype(np.float64), -PRODUCT_BITS)).astype(np.float32)
    return np.where(np.isfinite(values), np.where(below, -sine, sine), np.float32(np.nan))


def sin(values: np.ndarray) -> np.ndarray:
    """The sine of flushed FP32 numbers: `_sine`, negated for negative ones; the small ones themselves."""
    found = np.copysign(np.float32(1), values) * _sine(values, 0)
    return np.where(numerics.parts(values)[1] < SMALLEST_EXPONENT, values, found)


def cos(values: np.ndarray) -> np.ndarray:
    """The cosine of flushed FP32 numbers: `_sine` a quarter later."""
    return _sine(values, 1)


class Sin(Rounded):
    """Sine of every scalar, an angle in radians, of a BF16 or FP32 tile ``[rows, cols]``.

    ``out``: BF16 or FP32, by default the format of the tile. Computed in FP32, then rounded to ``out``.

    8 FLOPs per scalar. NaN for infinities. Accuracy against float64, for every finite number however large it is: an
    error of 5e-7 at most with an FP32 result; between -1 and 1 a relative error of 3e-6 at most.

    >>> graph = Graph()
    >>> graph.source("x", Tile(FP32), [3]).map(Sin()).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [0, 1, 32768]}).outputs["y"].numpy().ravel().round(4)
    array([0.    , 0.8415, 0.9279], dtype=float32)
    """

    cost = 8
    combine = staticmethod(sin)


class Cos(Rounded):
    """Cosine of every scalar, an angle in radians, of a BF16 or FP32 tile ``[rows, cols]``.

    ``out``, FLOPs, NaN and accuracy are those of `Sin`. The cosine of zero is 1.

    >>> graph = Graph()
    >>> graph.source("x", Tile(FP32), [3]).map(Cos()).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [0, 1, 32768]}).outputs["y"].numpy().ravel().round(4)
    array([1.    , 0.5403, 0.3729], dtype=float32)
    """

    cost = 8
    combine = staticmethod(cos)
