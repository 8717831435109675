"""The natural logarithm, by a table of its slopes next to 1."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from step.language import numerics
from step.language.scalars import Rounded
from step.language.table import Table, lines

SEGMENT_BITS = 9
"""A mantissa has 23 fraction bits; the upper ones are the segment, the lower ones the place in it."""

VALUE_BITS = 24
"""Fraction bits of a table value."""

SUM_BITS = 46
"""Fraction bits of a logarithm before it is rounded."""

LN_2 = round(math.log(2) * 2**SUM_BITS)
"""ln(2) with `SUM_BITS` fraction bits."""


@cache
def slopes() -> Table:
    """ln(1 + t) / t for t = m - 1 where 1 <= m < 1.5, and for t = m / 2 - 1 where 1.5 <= m < 2."""
    segments = 1 << SEGMENT_BITS - 1
    entries: list[tuple[int, int]] = []
    for first, last in ((0, 0.5), (-0.25, 0)):
        ends = (first + (last - first) * index / segments for index in range(segments + 1))
        entries += lines(round((math.log1p(end) / end if end else 1) * 2**VALUE_BITS) for end in ends)
    return Table(tuple(entries), 23 - SEGMENT_BITS)


def log(values: np.ndarray) -> np.ndarray:
    """The natural logarithm of flushed FP32 numbers, in integers as the RTL does it; NaN not canonical yet.

    1. x = 2^e * (1 + t), with t from -1/4 to 1/2: so next to 1, e is 0, and nothing cancels;
    2. ln(1 + t) = t * slope, which comes from the table, linear within a segment, truncated to `VALUE_BITS` bits;
    3. e * ln(2) and that, with `SUM_BITS` fraction bits, rounded once to FP32.
    """
    _, exponent, mantissa = numerics.parts(values)
    fraction = mantissa & 0x7FFFFF
    upper = fraction >> 22
    distance = np.where(upper, (1 << 23) - fraction, fraction << 1)  # of t from 0, with 24 bits
    product = distance * slopes().read(fraction) >> 24 + VALUE_BITS - SUM_BITS
    total = (exponent + upper) * LN_2 + np.where(upper, -product, product)
    result = np.ldexp(total.astype(np.float64), -SUM_BITS).astype(np.float32)
    return np.where(~(values > 0) | (values == np.inf), np.log(values), result)


class Log(Rounded):
    """Natural logarithm of every scalar of a BF16 or FP32 tile ``[rows, cols]``.

    ``out``: BF16 or FP32, by default the format of the tile. Computed in FP32, then rounded to ``out``.

    6 FLOPs per scalar. -infinity for zeros, NaN for negative numbers, +0 for 1. Accuracy against float64: 0.501 BF16
    ULP at most over all BF16 inputs with a BF16 result; a relative error of 1e-6 at most with an FP32 result.

    >>> graph = Graph()
    >>> graph.source("x", Tile(FP32), [3]).map(Log()).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [0, 1, 2]}).outputs["y"].numpy().ravel().round(4)
    array([  -inf, 0.    , 0.6931], dtype=float32)
    """

    cost = 6
    combine = staticmethod(log)
