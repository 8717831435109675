"""Odd functions that go to 1, x * (f(x) / x), by tables that NumPy and RTL share."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial

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
def slopes(function: Callable[[float], float]) -> Table:
    """``function``(a) / a for 0 <= a < 8; at 0 it is that of a number that is nearly zero."""
    ends = (max(end / 2**SEGMENT_BITS, 1e-9) for end in range((2 << LARGEST_EXPONENT + SEGMENT_BITS) + 1))
    return Table(tuple(lines(round(function(end) / end * 2**VALUE_BITS) for end in ends)), STEP_BITS)


def saturating(values: np.ndarray, function: Callable[[float], float]) -> np.ndarray:
    """An odd ``function`` that goes to 1, of flushed FP32 numbers, in integers as the RTL does it.

    1. its slope at abs(x) from the table, linear within a segment, truncated to `VALUE_BITS` fraction bits;
    2. the mantissa of x times that, rounded once to FP32; 1 at most. NaN is not canonical yet.
    """
    negative, exponent, mantissa = numerics.parts(values)
    factor = slopes(function).read(mantissa >> np.clip(LARGEST_EXPONENT - exponent, 0, 63))
    magnitude = np.minimum(1, np.ldexp((mantissa * factor).astype(np.float64), exponent - 23 - VALUE_BITS))
    magnitude = np.where(exponent > LARGEST_EXPONENT, 1, magnitude)
    result = numerics.from_float64(np.where(negative, -magnitude, magnitude))
    return np.where(np.isnan(values) | (values == 0), values, result)


tanh, erf = partial(saturating, function=math.tanh), partial(saturating, function=math.erf)


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


class Erf(Rounded):
    """Error function of every scalar of a BF16 or FP32 tile ``[rows, cols]``.

    ``out``: BF16 or FP32, by default the format of the tile. Computed in FP32, then rounded to ``out``.

    6 FLOPs per scalar. Accuracy against float64: 0.505 BF16 ULP at most over all BF16 inputs with a BF16 result; a
    relative error of 2.1e-5 at most with an FP32 result.

    >>> graph = Graph()
    >>> graph.source("x", Tile(FP32), [3]).map(Erf()).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [-1, 0, 1]}).outputs["y"].numpy().ravel().round(4)
    array([-0.8427,  0.    ,  0.8427], dtype=float32)
    """

    cost = 6
    combine = staticmethod(erf)
