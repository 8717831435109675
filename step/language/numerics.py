"""The fabric's floating point: what one addition, one product and one rounding are.

All functions compute in FP32, round to nearest even, and treat subnormal numbers as zeros of the same sign, on the way
in and on the way out. Whether a result is subnormal is decided after it was rounded to 24 bits as if exponents had
no limit. A result beyond the largest number is an infinity; every NaN is the canonical one (0x7FC00000, BF16 0x7FC0).
Zeros have signs as in IEEE 754. FP16 and FP8, which are only stored, have their subnormal numbers.

Arrays are float32 unless said otherwise. `add`, `multiply` and `flush` let any NaN pass, and `canonical` is the last
step. NumPy would warn of overflow and NaN here, so callers work inside `quiet`.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

from step.language.dtypes import BOOL, FP8_E4M3, DType, dtype_of

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


def parts(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sign (true where negative), exponent, and mantissa with 23 fraction bits, of every number."""
    bits = values.view(np.uint32).astype(np.int64)
    return bits >> 31 != 0, (bits >> 23 & 0xFF) - 127, bits & 0x7FFFFF | 0x800000


def add(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Sum of numbers that are flushed; a subnormal sum is exact, so it is flushed without further rounding."""
    return flush(first + second)


def from_float64(values: np.ndarray) -> np.ndarray:
    """float64 numbers rounded to FP32; what does not reach `_ROUNDS_TO_NORMAL` is a zero."""
    return (values * (np.abs(values) >= _ROUNDS_TO_NORMAL)).astype(np.float32)


def multiply(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Product of numbers that are flushed: float64 holds it exactly, so that it is rounded once."""
    return from_float64(first.astype(np.float64) * second)


def maximum(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The larger one of numbers, +0 being larger than -0; NaN if there is one."""
    larger = (first > second) | (first == second) & np.signbit(second)
    return np.where(larger | np.isnan(first), first, second)


def order(values: np.ndarray) -> np.ndarray:
    """Numbers of any format as int64 of the same order: +0 above -0, NaN above all others, and all NaN alike."""
    if dtype_of(values).is_float:
        with quiet():
            bits = canonical(widen(values)).view(np.int32).astype(np.int64)
        return np.where(bits < 0, -(2**31) - 1 - bits, bits)  # of -0 it is -1, of +0 it is 0
    return values.astype(np.int64)


def widen(values: np.ndarray) -> np.ndarray:
    """Numbers with a fraction as FP32, flushed; what is subnormal in a format that is only stored is not in FP32."""
    return flush(values.astype(np.float32, copy=False))


def narrow(values: np.ndarray, out: DType, *, saturate: bool = False) -> np.ndarray:
    """Flushed FP32 numbers as FP32, or rounded to another format with a fraction; NaN canonical.

    A normal FP32 number never rounds to a subnormal BF16 number. What is beyond the largest number becomes an infinity,
    in FP8_E4M3, which has none, NaN; with ``saturate`` it is the largest number, for infinities too.
    """
    if saturate:
        most = float(ml_dtypes.finfo(out.numpy).max)
        values = np.clip(values, -most, most)
    rounded = canonical(values).astype(out.numpy)
    return np.where(np.isnan(rounded), np.array(np.nan, out.numpy), rounded) if out is FP8_E4M3 else rounded


def fp32(number: float) -> np.ndarray:
    """A number rounded to FP32 and flushed, as an array without dimensions."""
    with quiet():
        return flush(np.array(number).astype(np.float32))


def fp32_bits(number: float) -> int:
    """The pattern of that."""
    return int(fp32(number).view(np.uint32))


def convert(values: np.ndarray, out: DType, *, saturate: bool = False) -> np.ndarray:
    """Numbers of any format in the format ``out``, as `step.functions.cast.Cast` says."""
    source = dtype_of(values)
    with quiet():
        if source.is_float:
            values = widen(values)
        if out.is_float:
            return narrow(values.astype(np.float32), out, saturate=saturate)
        if source.is_float and out is not BOOL:
            limits = np.iinfo(out.numpy)  # rounded to nearest even, and to the nearest one of these; NaN is 0
            rounded = np.clip(np.rint(values.astype(np.float64)), limits.min, limits.max)
            return np.where(np.isnan(values), 0, rounded).astype(out.numpy)
        return values.astype(out.numpy)
