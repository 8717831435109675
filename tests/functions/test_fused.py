"""Fused sums: what they are, bit for bit, by a definition in exact fractions, and that of special numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import patterns
import pytest
from cases import cases

from step import BF16, FP32, INT8, INT32, Tile
from step.errors import TypeMismatch
from step.functions import Matmul, RowSum
from step.language import numerics

INFINITY, NAN = math.inf, math.nan


def exponent(number: Fraction) -> int:
    """e of 1.f * 2^e."""
    found = number.numerator.bit_length() - number.denominator.bit_length()
    return found if abs(number) >= Fraction(2) ** found else found - 1


def cut(number: Fraction, unit: Fraction) -> Fraction:
    """A multiple of ``unit``, towards zero."""
    return math.trunc(number / unit) * unit


def by_definition(terms: list[tuple[float, ...]]) -> float:
    """The sum of products of numbers, as docs/numerics.md has it."""
    numbers = [math.prod(factors) for factors in terms]  # of special numbers; others are not looked at
    special = [each for each, factors in zip(numbers, terms, strict=True) if not all(map(math.isfinite, factors))]
    if special:
        return sum(special)
    there = [[Fraction(each) for each in factors] for factors in terms if all(factors)]
    if not there:
        return 0.0
    unit = Fraction(2) ** (max(sum(map(exponent, map(abs, factors))) for factors in there) - 24)
    total = sum(cut(math.prod(factors), unit) for factors in there)
    if total == 0:
        return 0.0
    kept = cut(total, Fraction(2) ** (exponent(abs(total)) - 23))
    if abs(kept) >= Fraction(2) ** 128:
        return math.copysign(INFINITY, kept)
    return float(kept) if abs(kept) >= Fraction(2) ** -126 else math.copysign(0.0, kept)


def same(got: np.ndarray, wanted: Any) -> bool:
    """Whether the patterns are equal."""
    expected = numerics.canonical(np.array(wanted, np.float32))
    return np.array_equal(got.ravel().view(np.uint32), expected.ravel().view(np.uint32))


def scalars(random: np.random.Generator, count: int, kind: int) -> np.ndarray:
    """Patterns of FP32 numbers: any, near each other, cancelling, or far apart."""
    if kind == 0:
        return patterns.fp32(random, count).view(np.float32)
    numbers = random.standard_normal(count) * 2.0 ** random.integers(-40, 41, count) ** (kind == 1)
    if kind == 2:
        numbers[count // 2 :] = -numbers[: count - count // 2]
    return numbers.astype(np.float32)


@pytest.mark.parametrize("terms", [4, 8, 16, 32])
def test_products_are_the_definition(terms: int) -> None:
    random, matmul = np.random.default_rng(terms), Matmul(sum="fused", terms=terms)  # type: ignore[arg-type]
    for number in range(150):
        with numerics.quiet():
            left, right = (numerics.widen(scalars(random, terms, number % 4).astype(BF16.numpy)) for _ in range(2))
        right = np.ones_like(right) if number % 3 == 0 else right
        got = matmul.apply(left[None].astype(BF16.numpy), right[:, None].astype(BF16.numpy))
        wanted = by_definition([tuple(each) for each in zip(left.tolist(), right.tolist(), strict=True)])
        assert same(got, numerics.add(np.zeros(1, np.float32), np.array([wanted], np.float32))), (left, right)


@pytest.mark.parametrize("terms", [4, 8, 16, 32])
@pytest.mark.parametrize("dtype", [BF16, FP32])
def test_rows_are_the_definition(dtype: Any, terms: int) -> None:
    random, function = np.random.default_rng(terms), RowSum(sum="fused", terms=terms)  # type: ignore[arg-type]
    for number in range(150):
        with numerics.quiet():
            values = scalars(random, terms, number % 4).astype(dtype.numpy)
            wanted = by_definition([(each,) for each in numerics.widen(values).tolist()])
        assert same(function.apply(values[None]), [wanted]), values


@cases(
    ((1, INFINITY), (1, 0), 0x7FC00000),
    ((1, NAN), (1, 0), 0x7FC00000),
    ((INFINITY, 1), (1, 1), 0x7F800000),
    ((INFINITY, 1), (-1, 1), 0xFF800000),
    ((INFINITY, INFINITY), (1, -1), 0x7FC00000),
    ((INFINITY, INFINITY), (1, 1), 0x7F800000),
    ((-0.0, -0.0), (1, 1), 0),
    ((1, -1), (1, 1), 0),
    ((1e-40, 2), (1, 1), 0x40000000),  # a subnormal number is a zero
    ((2.0**100, 2.0**100), (2.0**100, -(2.0**100)), 0),  # products beyond FP32 cancel
    ((2.0**100, -(2.0**100)), (2.0**100, 2.0**99), 0x7F800000),
    ((2.0**-80, 2.0**-80), (2.0**-46, 2.0**-46), 0x01000000),
    ((2.0**-80, 0), (2.0**-47, 0), 0),
    ((1, 2.0**-24), (1, 1), 0x3F800000),  # the sum has a bit more than FP32, and is cut off
    ((-1, -(2.0**-24)), (1, 1), 0xBF800000),
    ((1, -(2.0**-24)), (1, 1), 0x3F7FFFFF),
    ((1, -(2.0**-25)), (1, 1), 0x3F800000),  # a term below all that is kept,
)
def test_special_numbers(first: tuple[float, float], second: tuple[float, float], bits: int) -> None:
    """Of two products among zeros."""
    left, right = (np.array([[*each, 0, 0]]).astype(BF16.numpy) for each in (first, second))
    got = Matmul(sum="fused", terms=4).apply(left, right.T)
    assert f"{int(got.view(np.uint32)[0, 0]):08x}" == f"{bits:08x}"


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("inner", [1, 3, 4, 9, 40])
def test_steps_are_added_in_order(inner: int, transposed: bool) -> None:
    """Each to the sum before with one rounding; behind the last k are zeros, and tiles are like one long k."""
    random, function = np.random.default_rng(inner), Matmul(transposed, sum="fused", terms=4)
    left, right = (random.standard_normal(shape).astype(BF16.numpy) for shape in ((3, inner), (inner, 2)))
    second = right.T if transposed else right
    state = np.zeros((3, 2), np.float32)
    for k in range(0, inner, 4):
        one, other = left[:, k : k + 4], right[k : k + 4]
        state = numerics.add(state, function.apply(one, other.T if transposed else other))
    assert same(function.apply(left, second), state)
    half = inner // 8 * 4
    parts = np.zeros((3, 2), np.float32)
    for some in (slice(half), slice(half, None)):
        parts = function.update(parts, left[:, some], right[some].T if transposed else right[some])
    assert same(parts, state)


def test_sums_of_rows_are_added_in_pairs() -> None:
    values = np.random.default_rng(0).standard_normal((3, 22)).astype(np.float32)
    parts = [RowSum(sum="fused", terms=8).apply(values[:, at : at + 8]) for at in (0, 8, 16)]
    wanted = numerics.add(numerics.add(parts[0], parts[1]), parts[2])
    assert same(RowSum(sum="fused", terms=8).apply(values), wanted)


def test_sixteen_terms_unless_said() -> None:
    assert Matmul(sum="fused") == Matmul(sum="fused", terms=16) and Matmul().terms is None
    assert RowSum(sum="fused") == RowSum(sum="fused", terms=16)


@cases(
    (lambda: Matmul(terms=8), "matmul needs sum to be \"fused\" for terms, not 'ordered'"),
    (lambda: RowSum(terms=8), "row_sum needs sum to be \"fused\" for terms, not 'ordered'"),
    (lambda: Matmul(sum="fused", terms=12), "matmul needs terms to be 4, 8, 16 or 32 or None, not 12"),  # type: ignore[arg-type]
    (lambda: Matmul(sum="exact"), 'matmul needs sum to be "ordered" or "fused", not \'exact\''),  # type: ignore[arg-type]
    (lambda: Matmul(out=INT32, sum="fused").result_type(Tile(INT8, 2, 3), Tile(INT8, 3, 4)),
     'matmul of Tile(INT8, 2, 3), Tile(INT8, 3, 4) needs sum to be "ordered", as sums of integers are exact in '
     "any order, not 'fused'"),
    (lambda: RowSum(sum="fused").result_type(Tile(INT32, 2, 3)),
     'row_sum of Tile(INT32, 2, 3) needs sum to be "ordered", as sums of integers are exact in any order, not '
     "'fused'"),
)  # fmt: skip
def test_what_cannot_be_fused(make: Any, text: str) -> None:
    with pytest.raises(TypeMismatch) as caught:
        make()
    assert str(caught.value).rpartition(": ")[2] == text or str(caught.value) == text
