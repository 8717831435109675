"""The fabric's floating point: what one addition, one product and one rounding are.

All functions compute in FP32, round to nearest even, and treat subnormal numbers as zeros of the same sign, on the way
in and on the way out. Whether a result is subnormal is decided after it was rounded to 24 bits as if exponents had
no limit. A result beyond the largest number is an infinity; every NaN is the canonical one (0x7FC00000, BF16 0x7FC0).
Zeros have signs as in IEEE 754.

Arrays are float32 unless said otherwise. `add`, `multiply` and `flush` let any NaN pass, and `canonical` is the last
step. NumPy would warn of overflow and NaN here, so callers work inside `quiet`.
"""

from __future__ import annotations

import numpy as np

from step.language.dtypes import BF16, FP32, DType

SMALLEST_NORMAL = np.float32(2.0**-126)
_ROUNDS_TO_NORMAL = 2.0**-126 - 2.0**-151
"""The smallest number that 24 bits and an unlimited exponent round up to 2^-126."""


def quiet() -> np.errstate:
    """A context in which NumPy does not warn of overflow and NaN: here they are results like any other."""
    return np.errstate(all="ignore")


def flush(values: np.ndarray) -> np.ndarray:
    """Subnormal numbers as zeros of the same sign."""
    return values * (np.abs(values) >= SMALLEST_NORMAL)


def canonical(values: np.ndarray) -> np.ndarray:
    """Every NaN as the canonical one."""
    return np.where(np.isnan(values), np.float32(np.nan), values)


def add(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Sum of numbers that are flushed; a subnormal sum is exact, so it is flushed without further rounding."""
    return flush(first + second)


def from_float64(values: np.ndarray) -> np.ndarray:
    """float64 numbers rounded to FP32; what does not reach `_ROUNDS_TO_NORMAL` is a zero."""
    return (values * (np.abs(values) >= _ROUNDS_TO_NORMAL)).astype(np.float32)


def multiply(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Product of numbers that are flushed: float64 holds it exactly, so that it is rounded once."""
    return from_float64(first.astype(np.float64) * second)


def widen(values: np.ndarray) -> np.ndarray:
    """BF16 or FP32 numbers as FP32, flushed."""
    return flush(values.astype(np.float32, copy=False))


def narrow(values: np.ndarray, out: DType) -> np.ndarray:
    """Flushed FP32 numbers as FP32, or rounded to BF16; NaN canonical.

    A normal FP32 number never rounds to a subnormal BF16 number.
    """
    if out is FP32:
        return canonical(values)
    assert out is BF16
    return canonical(values).astype(BF16.numpy)
