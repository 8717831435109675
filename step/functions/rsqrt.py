"""Square roots and their reciprocals, by tables."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from step.language import numerics
from step.language.scalars import Rounded
from step.language.table import Table, lines

SEGMENT_BITS = 8
"""Of the 23 fraction bits of a mantissa; the lower ones are the place in a segment."""

VALUE_BITS = 24
"""Fraction bits of a table value."""


@cache
def powers(power: float) -> Table:
    """m^``power`` for 1 <= m < 2, and behind it for 2 <= m < 4 (mantissas of odd exponents)."""
    segments = 1 << SEGMENT_BITS
    entries: list[tuple[int, int]] = []
    for start in (1, 2):
        mantissas = (start * (1 + index / segments) for index in range(segments + 1))
        entries += lines(round(2**VALUE_BITS * mantissa**power) for mantissa in mantissas)
    return Table(tuple(entries), 23 - SEGMENT_BITS)


def _root(values: np.ndarray, power: float) -> np.ndarray:
    """x^``power``, 1/2 or -1/2, of flushed FP32 numbers, in integers as the RTL does it; NaN not canonical yet.

    The table has that of the mantissa, linear within a segment, truncated to `VALUE_BITS` fraction bits; half of the
    exponent, rounded down, is that of the result, with the sign of ``power``. It is rounded once to FP32.
    """
    _, exponent, mantissa = numerics.parts(values)
    root = powers(power).read(mantissa & 0x7FFFFF | (exponent & 1) << 23)
    half = np.where(power < 0, -(exponent >> 1), exponent >> 1)
    result = np.ldexp(root.astype(np.float64), half - VALUE_BITS).astype(np.float32)
    special = ~(values > 0) | (values == np.inf)
    exact = np.sqrt(values)
    return np.where(special, 1 / exact if power < 0 else exact, result)


rsqrt, sqrt = partial(_root, power=-0.5), partial(_root, power=0.5)


class Rsqrt(Rounded):
    """1/sqrt(x) of every scalar of a BF16 or FP32 tile ``[rows, cols]``.

    ``out``: BF16 or FP32, by default the format of the tile. Computed in FP32, then rounded to ``out``.

    2 FLOPs per scalar. NaN for negative numbers; a zero becomes an infinity of the same sign, and infinity +0. Powers
    of four are exact. Accuracy against float64: 0.501 BF16 ULP at most over all BF16 inputs with a BF16 result; a
    relative error of 1.6e-6 at most with an FP32 result.

    >>> graph = Graph()
    >>> graph.source("x", Tile(FP32), [3]).map(Rsqrt()).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [0.25, 1, 4]}).outputs["y"].numpy().ravel().tolist()
    [2.0, 1.0, 0.5]
    """

    cost = 2
    combine = staticmethod(rsqrt)


class Sqrt(Rounded):
    """Square root of every scalar of a BF16 or FP32 tile ``[rows, cols]``.

    ``out``: BF16 or FP32, by default the format of the tile. Computed in FP32, then rounded to ``out``.

    2 FLOPs per scalar. NaN for negative numbers; zeros and +infinity stay. Powers of four are exact. Accuracy against
    float64: 0.501 BF16 ULP at most over all BF16 inputs with a BF16 result; a relative error of 6e-7 at most with an
    FP32 result.

    >>> graph = Graph()
    >>> graph.source("x", Tile(FP32), [3]).map(Sqrt()).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [0.25, 1, 4]}).outputs["y"].numpy().ravel().tolist()
    [0.5, 1.0, 2.0]
    """

    cost = 2
    combine = staticmethod(sqrt)
