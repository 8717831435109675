"""The exponential function, by a table of powers of two."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from step.language import numerics
from step.language.scalars import Rounded
from step.language.table import Table, segments

LOG2_E = round(math.log2(math.e) * 2**23)
"""log2(e) as a 24 bit number with 23 fraction bits."""

POSITION_BITS = 20
"""Fraction bits of s = x * log2(e)."""

LARGEST_EXPONENT = 7
"""Numbers from 2^8 on, and their exponentials, are not told from infinity."""

SEGMENT_BITS = 9
VALUE_BITS = 24
"""Fraction bits of a table value."""


def position(values: np.ndarray) -> np.ndarray:
    """``x * log2(e)`` of FP32 numbers below 2^8, truncated to `POSITION_BITS` fraction bits; 0 for a zero."""
    negative, exponent, mantissa = numerics.parts(values)
    product = mantissa * LOG2_E >> 46 - POSITION_BITS - LARGEST_EXPONENT
    magnitude = product >> np.clip(LARGEST_EXPONENT - exponent, 0, 63)
    return np.where(negative, -magnitude, magnitude)


@cache
def powers_of_two() -> Table:
    """2^f for 0 <= f < 1."""
    return Table(tuple(segments(lambda f: 2**f, 1 << SEGMENT_BITS, VALUE_BITS)), POSITION_BITS - SEGMENT_BITS)


def exp(values: np.ndarray) -> np.ndarray:
    """The exponential of flushed FP32 numbers, in integers as the RTL does it; NaN not canonical yet.

    1. ``s = x * log2(e)`` in fixed point, see `position`;
    2. 2^f of its fraction f from the table, linear within a segment, truncated to `VALUE_BITS` fraction bits;
    3. that times 2^floor(s), rounded once to FP32 (subnormal: zero).
    """
    s = position(values)
    power = powers_of_two().read(s & (1 << POSITION_BITS) - 1)
    result = numerics.from_float64(np.ldexp(power.astype(np.float64), (s >> POSITION_BITS) - VALUE_BITS))
    beyond = np.abs(values) >= 2.0 ** (LARGEST_EXPONENT + 1)
    result = np.where(beyond, np.where(values > 0, np.float32(np.inf), np.float32(0)), result)
    return np.where(np.isnan(values), values, result)


class Exp(Rounded):
    """e^x of every scalar of a BF16 or FP32 tile ``[rows, cols]``.

    ``out``: BF16 or FP32, by default the format of the tile. Computed in FP32, then rounded to ``out``.

    4 FLOPs per scalar. Accuracy against float64: 0.501 BF16 ULP at most over all BF16 inputs with a BF16 result; a
    relative error of 2.2e-6 at most with an FP32 result. e^0 is 1. Where the exact result is subnormal, the result is a
    zero.

    >>> graph = Graph()
    >>> graph.source("x", Tile(FP32), [3]).map(Exp()).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [0, 1, -np.inf]}).outputs["y"].numpy().ravel().round(4)
    array([1.    , 2.7183, 0.    ], dtype=float32)
    """

    cost = 4
    combine = staticmethod(exp)
