"""GELU, x * Phi(x) with the distribution function Phi of the normal distribution, or nearly that, by two tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, Literal

import numpy as np

from step.functions.exp import POSITION_BITS, VALUE_BITS, powers_of_two
from step.language import numerics
from step.language.scalars import Rounded
from step.language.table import Table, lines
from step.language.types import Tile

Form = Literal["none", "tanh"]

LARGEST_EXPONENT = 3
"""Numbers below 2^4 have a place in the table; from there on Phi is 0 or 1."""

SEGMENT_BITS, STEP_BITS = 6, 14
"""A unit of |x| has 2^SEGMENT_BITS segments, and a segment 2^STEP_BITS places; further bits of |x| do not count."""

LOGARITHM_BITS: dict[Form, int] = {"none": 18, "tanh": 17}
"""Fraction bits of a logarithm; with tanh it grows faster, and a multiplier has 18 bits for its rise."""


MOST = 130.5
"""Largest logarithm that counts: 16 * 2^-MOST rounds to zero."""


def _phi_by_tanh(a: float) -> float:
    """(1 - tanh(sqrt(2 / pi) * (a + 0.044715 * a^3))) / 2, without its cancellation."""
    return 1 / (1 + math.exp(2 * math.sqrt(2 / math.pi) * (a + 0.044715 * a**3)))


@cache
def logarithms(approximate: Form = "none") -> Table:
    """-log2(Phi(-a)) for 0 <= a < 16; where Phi is ``approximate``, up to `MOST`."""
    ends = (end / 2**SEGMENT_BITS for end in range((2 << LARGEST_EXPONENT + SEGMENT_BITS) + 1))
    if approximate == "tanh":
        logs = [min(MOST, -math.log2(_phi_by_tanh(end))) for end in ends]
    else:
        logs = [-math.log2(math.erfc(end / math.sqrt(2)) / 2) for end in ends]
    return Table(tuple(lines(round(each * 2 ** LOGARITHM_BITS[approximate]) for each in logs)), STEP_BITS)


def gelu(values: np.ndarray, approximate: Form = "none") -> np.ndarray:
    """GELU of flushed FP32 numbers, in integers as the RTL does it; NaN not canonical yet.

    1. s = log2(Phi(-abs(x))) from the table, linear within a segment, truncated to `LOGARITHM_BITS` fraction bits;
    2. Phi(-abs(x)) = 2^s from the table of `Exp`; for positive x it is taken from 1 (`VALUE_BITS` + 1 bits);
    3. the mantissa of x times that, rounded once to FP32 (subnormal: zero).
    """
    negative, exponent, mantissa = numerics.parts(values)
    logarithm = logarithms(approximate).read(mantissa >> np.clip(LARGEST_EXPONENT - exponent, 0, 63))
    s = -logarithm << POSITION_BITS - LOGARITHM_BITS[approximate]
    power = powers_of_two().read(s & (1 << POSITION_BITS) - 1)
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
class Gelu(Rounded):
    """x * Phi(x) of every scalar of a BF16 or FP32 tile ``[rows, cols]``.

    ``out``: BF16 or FP32, by default the format of the tile. Computed in FP32, then rounded to ``out``.
    ``approximate``: "none" for Phi(x) with erf; "tanh" for (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2.

    8 FLOPs per scalar. Accuracy against float64: 0.51 BF16 ULP at most over all BF16 inputs with a BF16 result; a
    relative error of 4e-5 at most with an FP32 result (with tanh 1.4e-4). Where the exact result is subnormal, the
    result is a zero.

    >>> graph = Graph()
    >>> graph.source("x", Tile(FP32), [3]).map(Gelu()).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [-1, 0, 1]}).outputs["y"].numpy().ravel().round(4)
    array([-0.1587,  0.    ,  0.8413], dtype=float32)
    """

    approximate: Form = "none"
    cost = 8

    @classmethod
    def sample_parameters(cls, random: Random, tile: Tile) -> dict[str, Any]:
        return {"approximate": random.choice(["none", "tanh"])}

    def combine(self, value: np.ndarray) -> np.ndarray:
        return gelu(value, self.approximate)
