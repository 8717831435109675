"""The hyperbolic tangent, x * (tanh(x) / x), by a table that NumPy and RTL share."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from step.language import numerics
from step.language.scalars import Rounded
from step.language.table import Table, lines

LARGEST_EXPONENT = 2
"""Numbers below 2^3 have a place in the table; from there on the result is 1."""

SEGMENT_BITS, STEP_BITS = 6, 15
"""A unit of |x| has 2^SEGMENT_BITS segments, and a segment 2^STEP_BITS places; further bits of |x| do not count."""

VALUE_BITS = 24
"""Fraction bits of a table value."""


@cache
def slopes() -> Table:
    """tanh(a) / a for 0 <= a < 8."""
    ends = (end / 2**SEGMENT_BITS for end in range((2 << LARGEST_EXPONENT + SEGMENT_BITS) + 1))
    points = (round((math.tanh(end) / end if end else 1) * 2**VALUE_BITS) for end in ends)
    return Table(tuple(lines(points)), STEP_BITS)


def tanh(values: np.ndarray) -> np.ndarray:
    """The hyperbolic tangent of flushed FP32 numbers, in integers as the RTL does it; NaN not canonical yet.

    1. tanh(abs(x)) / abs(x) from the table, linear within a segment, truncated to `VALUE_BITS` fraction bits;
    2. the mantissa of x times that, rounded once to FP32; 1 at most.
    """
    negative, exponent, mantissa = numerics.parts(values)
    factor = slopes().read(mantissa >> np.clip(LARGEST_EXPONENT - exponent, 0, 63))
    magnitude = np.minimum(1, np.ldexp((mantissa * factor).astype(np.float64), exponent - 23 - VALUE_BITS))
    magnitude = np.where(exponent > LARGEST_EXPONENT, 1, magnitude)
    result = numerics.from_float64(np.where(negative, -magnitude, magnitude))
    return np.where(np.isnan(values) | (values == 0), values, result)


class Tanh(Rounded):
    """Hyperbolic tangent of every scalar of a BF16 or FP32 tile ``[rows, cols]``.

    ``out``: BF16 or FP32, by default the format of the tile. Computed in FP32, then rounded to ``out``.

    6 FLOPs per scalar. Accuracy against float64: 0.503 BF16 ULP at most over all BF16 inputs with a BF16 result; a
    relative error of 2.1e-5 at most with an FP32 result.

    >>> graph = Graph()
    >>> graph.source("x", Tile(FP32), [3]).map(Tanh()).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [-1, 0, 1]}).outputs["y"].numpy().ravel().round(4)
    array([-0.7616,  0.    ,  0.7616], dtype=float32)
    """

    cost = 6
    combine = staticmethod(tanh)
