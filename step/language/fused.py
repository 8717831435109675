"""Fused sums: several terms added exactly but for what is cut off far below the largest one, rounded once.

`docs/numerics.md` says what they are, bit for bit, and what is known of those of tensor cores.
"""

from __future__ import annotations

from random import Random
from typing import Literal

import numpy as np

from step.errors import TypeMismatch
from step.language import numerics
from step.language.function import Function
from step.language.types import ElementType, Tile, is_dynamic

Sum = Literal["ordered", "fused"]
"""How a function adds: one term after the other, each sum rounded, or several at once."""

Terms = Literal[4, 8, 16, 32]
"""How many terms a fused sum has."""

DEFAULT_TERMS = 16

GUARD_BITS = 1
"""Bits of aligned terms below those of an FP32 number with the largest exponent."""

FRACTION_BITS = 23 + GUARD_BITS
"""Bits of aligned terms below 2^e, where e is the largest exponent."""

SIGNIFICAND = 24
"""Bits of an FP32 number; of a sum those behind them are cut off."""

EXACT = '"ordered", as sums of integers are exact in any order'
"""What ``sum`` has to be where numbers are integers."""

_NONE = -(1 << 12)
"""The exponent of a term that is zero: below all others."""

_LEAST = -512
"""Below the exponents of all products, and above those whose powers float64 lacks."""


class Summing(Function):
    """A function with a fused sum, which has a number of terms, or an ordered one; raises `TypeMismatch` for both."""

    sum: Sum
    terms: Terms | None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sum == "fused":
            object.__setattr__(self, "terms", self.terms or DEFAULT_TERMS)
        elif self.terms is not None:
            raise TypeMismatch(f'{self.name} needs sum to be "fused" for terms, not {self.sum!r}')


def sample(random: Random, element: ElementType) -> tuple[Sum, Terms | None]:
    """Parameters of a sum at random, of such operands: mostly it is ordered."""
    terms: Terms | None = random.choice([None, None, None, 4, 8, 16, 32])
    fuses = isinstance(element, Tile) and element.dtype.is_float and not is_dynamic(element)
    return ("fused", terms) if terms is not None and fuses else ("ordered", None)


def products(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Exact products of flushed BF16 numbers, in float64, and their exponents: the sums of those of the factors."""
    return first.astype(np.float64) * second, exponents(first) + exponents(second)


def exponents(numbers: np.ndarray) -> np.ndarray:
    """e of flushed FP32 numbers 1.f * 2^e; far below all others of zeros, and anything of what is not finite."""
    field = numbers.view(np.int32) >> 23 & 0xFF
    return np.where(field == 0, _NONE, field - 127)


def fused_sum(terms: np.ndarray, exponents: np.ndarray, axis: int) -> np.ndarray:
    """The sum of ``terms`` (float64) along ``axis``, in FP32; NaN as it comes.

    Terms are cut off, towards zero, at 2^(e - `FRACTION_BITS`), with e the largest one of their ``exponents``, and
    added. Of the sum `SIGNIFICAND` bits are kept, and one that is too small for FP32 becomes a zero of its sign.
    A sum without terms that are left, or that cancels, is +0. Infinities and NaN are added as in IEEE 754.
    """
    finite = np.isfinite(terms)
    if all_finite := bool(finite.all()):
        numbers = terms
    else:
        numbers, exponents = np.where(finite, terms, 0), np.where(finite, exponents, _NONE)
    largest = exponents.max(axis=axis, keepdims=True)
    scale = np.ldexp(1.0, FRACTION_BITS - np.maximum(largest, _LEAST))
    scaled = np.trunc(numbers * scale)
    mantissa, bits = np.frexp(scaled.sum(axis=axis) + 0.0)  # exact: float64 has more bits; -0 becomes +0
    kept = np.trunc(np.ldexp(mantissa, SIGNIFICAND))
    result = numerics.from_float64(np.ldexp(kept, bits - SIGNIFICAND + np.squeeze(largest, axis) - FRACTION_BITS))
    if all_finite:
        return result
    special = np.where(finite, 0, terms).sum(axis=axis)
    return np.where(special == 0, result, special.astype(np.float32))
