"""Reciprocals and quotients, by a table of reciprocals."""

from __future__ import annotations

from functools import cache

import numpy as np

from step.language import numerics
from step.language.scalars import Rounded
from step.language.table import Table, segments

SEGMENT_BITS = 9
"""A mantissa has 23 fraction bits; the upper ones are the segment, the lower ones the place in it."""

VALUE_BITS = 24
"""Fraction bits of a table value."""


@cache
def reciprocals() -> Table:
    """1/m for 1 <= m < 2."""
    return Table(tuple(segments(lambda m: 1 / m, 1 << SEGMENT_BITS, VALUE_BITS, 1, 2)), 23 - SEGMENT_BITS)


def divide(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Quotient of flushed FP32 numbers, in integers as the RTL does it.

    The mantissa of the first number times the reciprocal of the second one's, which comes from the table, linear
    within a segment, truncated to `VALUE_BITS` fraction bits; rounded once to FP32 (subnormal: zero).
    """
    (sign, exponent, dividend), (other, less, divisor) = map(numerics.parts, np.broadcast_arrays(first, second))
    product = dividend * reciprocals().read(divisor & 0x7FFFFF)
    quotient = numerics.from_float64(np.ldexp(product.astype(np.float64), exponent - less - 23 - VALUE_BITS))
    special = np.isin(first, [0, np.inf, -np.inf]) | np.isin(second, [0, np.inf, -np.inf]) | np.isnan(first + second)
    return np.where(special, first / second, np.where(sign != other, -quotient, quotient))


class Reciprocal(Rounded):
    """1/x of every scalar of a BF16 or FP32 tile ``[rows, cols]``.

    ``out``: BF16 or FP32, by default the format of the tile. Computed in FP32, then rounded to ``out``.

    1 FLOP per scalar. A zero becomes an infinity of the same sign, and the other way round. Powers of two are exact.
    Accuracy against float64: 0.501 BF16 ULP at most over all BF16 inputs with a BF16 result; a relative error of 1.2e-6
    at most with an FP32 result. Where the exact result is subnormal, the result is a zero.

    >>> graph = Graph()
    >>> graph.source("x", Tile(FP32), [3]).map(Reciprocal()).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [0.5, 1, 4]}).outputs["y"].numpy().ravel().tolist()
    [2.0, 1.0, 0.25]
    """

    def combine(self, value: np.ndarray) -> np.ndarray:
        return divide(np.ones_like(value), value)


class Div(Rounded):
    """Quotient of two BF16 or FP32 tiles: the first one times the reciprocal of the second one, rounded once.

    Operands and ``out`` are those of `Add`; ``x / y`` is the same. As IEEE 754 where an operand is a zero, an infinity
    or NaN. Accuracy is that of `Reciprocal`, so FP32 quotients are not always the nearest ones. 1 FLOP per scalar.

    >>> graph = Graph()
    >>> x, y = (graph.source(name, Tile(FP32), [2]) for name in ("x", "y"))
    >>> x.map(Div(), y).sink("z")
    >>> step.run(graph, "interpret", inputs={"x": [1, 3], "y": [4, 0]}).outputs["z"].numpy().ravel().tolist()
    [0.25, inf]
    """

    operands = 2
    combine = staticmethod(divide)
