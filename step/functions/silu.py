"""The logistic function, sigmoid, and SiLU, x * sigmoid(x), by a table that NumPy and RTL share."""

from __future__ import annotations

from functools import cache

import numpy as np

from step.functions.exp import LARGEST_EXPONENT, POSITION_BITS, position
from step.language import numerics
from step.language.scalars import Rounded
from step.language.table import Table, lines

SEGMENT_BITS, STEP_BITS = 5, 12
"""A unit of s has 2^SEGMENT_BITS segments, and a segment 2^STEP_BITS places; further bits of s do not count."""

RANGE = 16
"""The table covers -RANGE <= s < RANGE."""

VALUE_BITS = 18
"""Fraction bits of a table value."""


def _sigmoid(row: int, fraction: float) -> float:
    """Sigmoid at s = row + fraction, without its factor 2^row where row is negative."""
    if row == -RANGE:
        return 2.0**fraction
    return 2.0**fraction / (1 + 2.0 ** (row + fraction)) if row < 0 else 1 / (1 + 2.0 ** -(row + fraction))


@cache
def sigmoid_table() -> Table:
    """Sigmoid from s = -RANGE on.

    Where s is negative, values are to be scaled by 2^floor(s), so that they keep their precision. The first unit is the
    limit for s -> -infinity and serves everything below.
    """
    segments = 1 << SEGMENT_BITS
    entries: list[tuple[int, int]] = []
    for row in range(-RANGE, RANGE):
        entries += lines(round(_sigmoid(row, index / segments) * 2**VALUE_BITS) for index in range(segments + 1))
    return Table(tuple(entries), STEP_BITS)


def _looked_up(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sigmoid of flushed FP32 numbers, in integers as the RTL does it, and where it is 0 or 1.

    1. ``s = x * log2(e)`` in fixed point, see `step.functions.exp.position`;
    2. sigmoid(s) from the table, linear within a segment, truncated to `VALUE_BITS` fraction bits, and the power of two
       that it is to be scaled by.
    """
    _, exponent, _ = numerics.parts(values)
    s = position(values)
    row = s >> POSITION_BITS
    place, unit = s >> POSITION_BITS - SEGMENT_BITS - STEP_BITS, 1 << SEGMENT_BITS + STEP_BITS
    place = np.where(row < -RANGE, place % unit, np.minimum(place, RANGE * unit - 1) + RANGE * unit)
    beyond = (exponent > LARGEST_EXPONENT) | (row >= RANGE)
    return sigmoid_table().read(place), np.minimum(row, 0) - VALUE_BITS, beyond


def sigmoid(values: np.ndarray) -> np.ndarray:
    """1 / (1 + e^-x) of flushed FP32 numbers: what was looked up (subnormal: zero); NaN not canonical yet."""
    factor, scale, beyond = _looked_up(values)
    inside = numerics.from_float64(np.ldexp(factor.astype(np.float64), scale))
    return np.where(np.isnan(values), values, np.where(beyond, (values > 0).astype(np.float32), inside))


def silu(values: np.ndarray) -> np.ndarray:
    """SiLU of flushed FP32 numbers: the mantissa of x times sigmoid(x), rounded once to FP32 (subnormal: zero).

    NaN is not canonical yet.
    """
    negative, exponent, mantissa = numerics.parts(values)
    factor, scale, beyond = _looked_up(values)
    scaled = np.ldexp((mantissa * factor).astype(np.float64), exponent + scale - 23)
    rounded = numerics.from_float64(np.where(negative, -scaled, scaled))
    result = np.where(beyond, np.where(negative, np.float32(-0.0), values), rounded)
    return np.where(np.isnan(values) | (values == 0), values, result)


class Sigmoid(Rounded):
    """1 / (1 + e^-x) of every scalar of a BF16 or FP32 tile ``[rows, cols]``.

    ``out``: BF16 or FP32, by default the format of the tile. Computed in FP32, then rounded to ``out``.

    6 FLOPs per scalar. Accuracy against float64: 0.51 BF16 ULP at most over all BF16 inputs with a BF16 result; a
    relative error of 9e-5 at most with an FP32 result. Where the exact result is subnormal, the result is a zero.

    >>> graph = Graph()
    >>> graph.source("x", Tile(FP32), [3]).map(Sigmoid()).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [-1, 0, 1]}).outputs["y"].numpy().ravel().round(3)
    array([0.269, 0.5  , 0.731], dtype=float32)
    """

    cost = 6
    combine = staticmethod(sigmoid)


class Silu(Rounded):
    """x * sigmoid(x) of every scalar of a BF16 or FP32 tile ``[rows, cols]``.

    ``out``: BF16 or FP32, by default the format of the tile. Computed in FP32, then rounded to ``out``.

    8 FLOPs per scalar. Accuracy against float64: 0.51 BF16 ULP at most over all BF16 inputs with a BF16 result; a
    relative error of 9e-5 at most with an FP32 result. Where the exact result is subnormal, the result is a zero.

    >>> graph = Graph()
    >>> graph.source("x", Tile(FP32), [3]).map(Silu()).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [-1, 0, 1]}).outputs["y"].numpy().ravel().round(3)
    array([-0.269,  0.   ,  0.731], dtype=float32)
    """

    cost = 8
    combine = staticmethod(silu)
