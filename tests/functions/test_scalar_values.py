"""Arithmetic, comparisons and conversions of scalars at the borders of their formats."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import patterns
import pytest
from cases import cases

from step.functions.cast import Cast
from step.functions.compare import RELATIONS, Compare, Where
from step.functions.elementwise import Add, Max, Min, Mul, MulAdd, Scale, Sub
from step.functions.exp import Exp
from step.language.dims import shape
from step.language.dtypes import BF16, BOOL, DTYPES, FP32, INT8, INT32, INTEGERS, UINT32, DType
from step.language.function import Function
from step.language.types import Tile

NAN, INF = float("nan"), float("inf")


def tile(*scalars: float, dtype: DType = FP32) -> np.ndarray:
    return np.array([scalars]).astype(dtype.numpy)


def bits(values: np.ndarray) -> list[str]:
    return [f"{int(each):x}" for each in values[0].view(f"u{values.itemsize}")]


def wrapped(number: int, dtype: DType) -> int:
    """The number of ``dtype`` with the same lowest bits."""
    low = number & (1 << dtype.bits) - 1
    return low - (1 << dtype.bits) if dtype.is_signed and low >> dtype.bits - 1 else low


OPERATIONS: list[tuple[type[Function], Callable[..., int]]] = [
    (Add, operator.add),
    (Sub, operator.sub),
    (Mul, operator.mul),
    (Max, max),
    (Min, min),
    (MulAdd, lambda first, second, third: first * second + third),
]


@pytest.mark.parametrize("out", [None, *INTEGERS])
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("function, meant", OPERATIONS)
def test_integers_wrap_around(function: type, meant: Callable[..., int], dtype: DType, out: DType | None) -> None:
    random = np.random.default_rng(1)
    limits = np.iinfo(dtype.numpy)
    numbers = [limits.min, limits.min + 1, limits.max, limits.max - 1, 0, 1, 2, 77]
    numbers += random.integers(limits.min, limits.max, 24, endpoint=True).tolist()
    operands = [random.permutation(numbers).tolist() for _ in range(function(out).operands)]
    got = function(out).apply(*(tile(*each, dtype=dtype) for each in operands))
    assert got.dtype == (out or dtype).numpy
    assert got[0].tolist() == [wrapped(meant(*each), out or dtype) for each in zip(*operands, strict=True)]


def test_reductions_of_integers_keep_the_lowest_bits_of_their_state() -> None:
    ones = tile(*[100] * 4, dtype=INT8)
    wide, narrow = Add(), Add(INT8)
    states = [each.initial(each.state_type(shape([3]), Tile(INT8, 1, 4))) for each in (wide, narrow)]
    for _ in range(3):
        states = [each.update(state, ones) for each, state in zip((wide, narrow), states, strict=True)]
    assert states[0].dtype == np.int32 and states[0].tolist() == [[300] * 4]
    assert states[1].dtype == np.int8 and states[1].tolist() == [[44] * 4]


@cases(
    (Max(), FP32, -INF), (Min(), FP32, INF), (Max(BF16), BF16, -INF), (Max(), INT32, -(2**31)),
    (Min(), INT32, 2**31 - 1), (Max(), UINT32, 0), (Min(), UINT32, 2**32 - 1), (Min(INT8), INT8, 127),
    (MulAdd(), FP32, 0),
)  # fmt: skip
def test_reductions_start_where_nothing_changes_a_first_element(function: Max, dtype: DType, start: float) -> None:
    state = function.initial(Tile(dtype, 1, 2))
    assert state.dtype == dtype.numpy and state.tolist() == [[start] * 2]


def test_maximum_and_minimum_of_zeros_and_nan() -> None:
    first = tile(0.0, -0.0, -0.0, NAN, 1, NAN, -INF, 1e-40, -1e-40)
    second = tile(-0.0, 0.0, -0.0, 1, NAN, -NAN, INF, -1e-40, 1e-40)
    plus, minus, nan = "0", "80000000", "7fc00000"
    assert bits(Max().apply(first, second)) == [plus, plus, minus, nan, nan, nan, "7f800000", plus, plus]
    assert bits(Min().apply(first, second)) == [minus, minus, minus, nan, nan, nan, "ff800000", minus, minus]


def test_a_difference_is_the_sum_with_the_negated_number() -> None:
    random = np.random.default_rng(2)
    first, second = (patterns.tile(random, Tile(FP32, 40, 40), wild=0.7) for _ in range(2))
    assert np.array_equal(Sub().apply(first, second).view("u4"), Add().apply(first, -second).view("u4"))
    assert bits(Sub().apply(tile(0, -0.0, 1), tile(0, 0, 1))) == ["0", "80000000", "0"]


def test_multiply_add_rounds_the_product() -> None:
    just_above = tile(1 + 2**-23)
    assert bits(MulAdd().apply(just_above, just_above, tile(-1))) == ["34800000"]  # fused it would have 2^-46 as well
    assert bits(MulAdd(BF16).apply(just_above, just_above, tile(0))) == ["3f80"]


def test_multiply_add_is_the_update_of_an_online_softmax() -> None:
    """The state is rescaled by a column, and the new rows are added: over all columns a softmax's denominator."""
    random = np.random.default_rng(3)
    scores = [random.standard_normal((4, 8)).astype(np.float32) * 5 for _ in range(6)]
    total = MulAdd().initial(MulAdd().state_type(shape([6]), Tile(FP32, 4, 1), Tile(FP32, 4, 1)))
    largest = np.full((4, 1), -INF, np.float32)
    for each in scores:
        now = Max().apply(largest, each.max(axis=1, keepdims=True))
        scale = Exp().apply(Sub().apply(largest, now))
        total = MulAdd().update(total, scale, Exp().apply(Sub().apply(each, now)).sum(axis=1, keepdims=True))
        largest = now
    together = np.concatenate(scores, axis=1).astype(np.float64)
    exact = np.exp(together - together.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True)
    assert np.allclose(total, exact, rtol=1e-5)


def test_scale() -> None:
    assert np.array_equal(Scale(0.1, FP32).apply(tile(3, dtype=BF16)), np.float32([[3]]) * np.float32(0.1))
    assert bits(Scale(1e-40).apply(tile(3e38, -1))) == ["0", "80000000"]
    assert Scale(-128).apply(tile(-128, 3, dtype=INT8)).tolist() == [[0, -128]]
    assert Scale(2**31, UINT32).apply(tile(3, dtype=UINT32)).tolist() == [[2**31]]


@pytest.mark.parametrize("relation", RELATIONS)
def test_comparisons(relation: str) -> None:
    numbers = [-INF, -1, -1e-40, -0.0, 0.0, 1e-40, 2.0**-126, 1, INF, NAN]
    flushed = [0.0 if abs(each) < 2.0**-126 else each for each in numbers]
    for dtype in (FP32, BF16):
        got = Compare(relation).apply(tile(*numbers, dtype=FP32), tile(*numbers, dtype=dtype).T)
        assert got.dtype == np.bool_
        assert got.T.tolist() == [[RELATIONS[relation](one, other) for other in flushed] for one in flushed]
    for dtype, most in ((INT8, 127), (INT32, 2**31 - 1), (UINT32, 2**32 - 1), (BOOL, 1)):
        numbers = [0, 1, most, *([-1, -most - 1] if dtype.is_signed else [])]
        got = Compare(relation).apply(tile(*numbers, dtype=dtype), tile(*numbers, dtype=dtype).T)
        assert got.T.tolist() == [[RELATIONS[relation](one, other) for other in numbers] for one in numbers]


@pytest.mark.parametrize("dtype", [*DTYPES.values()])
def test_where_keeps_all_bits(dtype: DType) -> None:
    random = np.random.default_rng(4)
    first, second = (patterns.tile(random, Tile(dtype, 1, 64), wild=1) for _ in range(2))
    condition = random.random((1, 64)) < 0.5
    got = Where().apply(condition, first, second)
    assert got.dtype == dtype.numpy
    wanted = [
        one if chosen else other for chosen, one, other in zip(condition[0], bits(first), bits(second), strict=True)
    ]
    assert bits(got) == wanted


@pytest.mark.parametrize("source", [FP32, BF16])
@pytest.mark.parametrize("out", INTEGERS)
def test_casts_to_integers_round_to_even_and_stop_at_the_limits(source: DType, out: DType) -> None:
    limits = np.iinfo(out.numpy)
    given = tile(
        0.5, 1.5, 2.5, -0.5, -1.5, 126.5, 127.5, -128.5, -129, 2**31, 2**32, -(2**31), INF, -INF, NAN, 1e-40,
        dtype=source,
    )  # fmt: skip
    exact = given[0].astype(np.float64)
    wanted = [0 if np.isnan(each) else min(max(each, limits.min), limits.max) for each in exact]
    assert Cast(out).apply(given)[0].tolist() == [round(each) for each in wanted]


def test_casts_at_the_borders() -> None:
    below = float(np.nextafter(np.float32(2**31), np.float32(0)))
    assert Cast(INT32).apply(tile(below, 2**31, -(2.0**31), -(2.0**31) - 256)).tolist() == [
        [2**31 - 128, 2**31 - 1, -(2**31), -(2**31)]
    ]
    assert Cast(UINT32).apply(tile(2**31, 2**32 - 256, 2**32, -0.4, -0.6, -5)).tolist() == [
        [2**31, 2**32 - 256, 2**32 - 1, 0, 0, 0]
    ]
    assert Cast(INT8).apply(tile(127.49, 127.5, -128.5, -128.51)).tolist() == [[127, 127, -128, -128]]
    # from integers: ties to even, by way of FP32
    assert Cast(FP32).apply(tile(2**24 + 1, 2**24 + 3, -(2**31), dtype=INT32)).tolist() == [
        [2**24, 2**24 + 4, -(2.0**31)]
    ]
    assert Cast(FP32).apply(tile(2**32 - 1, dtype=UINT32)).tolist() == [[2.0**32]]
    assert bits(Cast(BF16).apply(tile(257, 259, -127, dtype=INT32))) == ["4380", "4382", "c2fe"]
    assert bits(Cast(BF16).apply(tile(2**24 + 2**16 + 1, dtype=INT32))) == ["4b80"]  # rounded twice: once it were 4b81
    # integer to integer: the lowest bits
    assert Cast(INT8).apply(tile(128, 255, 256, -129, dtype=INT32)).tolist() == [[-128, -1, 0, 127]]
    assert Cast(UINT32).apply(tile(-1, -128, dtype=INT8)).tolist() == [[2**32 - 1, 2**32 - 128]]
    assert Cast(INT32).apply(tile(2**32 - 1, dtype=UINT32)).tolist() == [[-1]]
    # truth values
    assert Cast(BOOL).apply(tile(0, -0.0, 1e-40, 2.0**-126, NAN, -INF)).tolist() == [
        [False, False, False, True, True, True]
    ]
    assert Cast(BOOL).apply(tile(0, 256, -1, dtype=INT32)).tolist() == [[False, True, True]]
    for out in DTYPES.values():
        assert Cast(out).apply(tile(0, 1, dtype=BOOL)).tolist() == [[0, 1]]
