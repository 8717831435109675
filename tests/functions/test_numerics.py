"""The fabric's floating point against NumPy's, exact rationals and the written rules."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import patterns
import pytest

from step.language import numerics
from step.language.dtypes import BF16, FP32


def number(bits: int) -> np.float32:
    return np.array([bits], np.uint32).view(np.float32)[0]


def bits(values: np.ndarray) -> list[int]:
    return [int(each) for each in np.atleast_1d(values).view(np.uint32)]


def rounded(exact: Fraction, negative: bool) -> int:
    """The FP32 pattern of a number: 24 bits and an unlimited exponent, to nearest even, then the limits."""
    sign = int(negative) << 31
    if exact == 0:
        return sign
    magnitude, exponent = abs(exact), 0
    while magnitude >= 1 << 24:
        magnitude, exponent = magnitude / 2, exponent + 1
    while magnitude < 1 << 23:
        magnitude, exponent = magnitude * 2, exponent - 1
    mantissa = round(magnitude)  # Python rounds fractions to nearest even
    if mantissa == 1 << 24:
        mantissa, exponent = 1 << 23, exponent + 1
    biased = exponent + 23 + 127
    if biased < 1:
        return sign
    return sign | (0xFF << 23 if biased > 254 else biased << 23 | mantissa & 0x7FFFFF)


@pytest.mark.parametrize("operation", ["add", "multiply"])
def test_finite_results_are_the_rounded_exact_ones(operation: str) -> None:
    random = np.random.default_rng(1)
    first = patterns.fp32(random, 4000)
    second = patterns.near(random, first)
    with numerics.quiet():
        left, right = numerics.widen(first.view(np.float32)), numerics.widen(second.view(np.float32))
        got = getattr(numerics, operation)(left, right)
    compared = 0
    for a, b, result in zip(left, right, bits(got), strict=True):
        if not (np.isfinite(a) and np.isfinite(b)):
            continue
        one, two = Fraction(float(a)), Fraction(float(b))
        exact = one + two if operation == "add" else one * two
        if operation == "multiply":
            negative = bool(np.signbit(a) ^ np.signbit(b))
        else:
            negative = exact < 0 or (exact == 0 and bool(np.signbit(a) and np.signbit(b)))
        assert result == rounded(exact, negative), (a, b)
        compared += 1
    assert compared > 2500


def test_a_product_that_rounds_up_to_the_smallest_normal_number_is_not_flushed() -> None:
    smallest, next_up = number(0x00800000), number(0x00800001)  # 2^-126, and times 1 + 2^-23
    below = number(0x3F7FFFFE)  # 1 - 2^-23
    with numerics.quiet():
        assert bits(numerics.multiply(np.array([below]), np.array([next_up]))) == [0x00800000]
        assert bits(numerics.multiply(np.array([below]), np.array([smallest]))) == [0]


def test_subnormal_numbers_are_zeros_of_the_same_sign() -> None:
    values = np.array([0x00000001, 0x807FFFFF, 0x00800000, 0x80000000], np.uint32).view(np.float32)
    assert bits(numerics.flush(values)) == [0, 0x80000000, 0x00800000, 0x80000000]


@pytest.mark.parametrize("dtype, pattern", [(FP32, 0x7FC00000), (BF16, 0x7FC0)])
def test_every_nan_becomes_the_canonical_one(dtype: object, pattern: int) -> None:
    values = np.array([0x7F800001, 0xFFFFFFFF, 0xFFC00000], np.uint32).view(np.float32)
    with numerics.quiet():
        result = numerics.narrow(numerics.widen(values), dtype)  # type: ignore[arg-type]
    assert [int(each) for each in result.view(f"u{result.itemsize}")] == [pattern] * 3


def test_rounding_to_bf16_is_to_nearest_even_and_overflows_to_infinity() -> None:
    values = np.array([0x3F808000, 0x3F818000, 0x3F808001, 0x7F7F8000, 0xFF7FFFFF, 0x7F7F7FFF], np.uint32)
    got = numerics.narrow(values.view(np.float32), BF16).view(np.uint16)
    assert [hex(each) for each in got] == ["0x3f80", "0x3f82", "0x3f81", "0x7f80", "0xff80", "0x7f7f"]
