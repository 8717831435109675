"""Reciprocal square roots, by a table."""

from __future__ import annotations

from functools import cache

import numpy as np

from step.language import numerics
from step.language.scalars import Rounded
from step.language.table import Table, lines

SEGMENT_BITS = 8
"""Of the 23 fraction bits of a mantissa; the lower ones are the place in a segment."""

VALUE_BITS = 24
"""Fraction bits of a table value."""


@cache
def reciprocal_roots() -> Table:
    """1/sqrt(m) for 1 <= m < 2, and behind it for 2 <= m < 4 (mantissas of odd exponents)."""
    segments = 1 << SEGMENT_BITS
    entries: list[tuple[int, int]] = []
    for start in (1, 2):
        mantissas = (start * (1 + index / segments) for index in range(segments + 1))
        entries += lines(round(2**VALUE_BITS / mantissa**0.5) for mantissa in mantissas)
    return Table(tuple(entries), 23 - SEGMENT_BITS)


def rsqrt(values: np.ndarray) -> np.ndarray:
    """1/sqrt(x) of flushed FP32 numbers, in integers as the RTL does it; NaN not canonical yet.

    The table has 1/sqrt of the mantissa, linear within a segment, truncated to `VALUE_BITS` fraction bits; half of the
    exponent, rounded down, is that of the result with the other sign. It is rounded once to FP32.
    """
    _, exponent, mantissa = numerics.parts(values)
    root = reciprocal_roots().read(mantissa & 0x7FFFFF | (exponent & 1) << 23)
    result = np.ldexp(root.astype(np.float64), -(exponent >> 1) - VALUE_BITS).astype(np.float32)
    special = ~(values > 0) | (values == np.inf)
    return np.where(special, 1 / np.sqrt(values), result)


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
