"""Dimensions and element types: kinds, absorption, counting, what a type accepts."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import sympy
from cases import cases
from raising import raising

from step.errors import TypeMismatch
from step.language.dims import Dim, DimKind, derive, dim, element_count, format_shape, shape, symbol
from step.language.dtypes import BF16, BOOL, DTYPES, FP32, INT8, INT32, UINT32, as_dtype
from step.language.types import Buffer, Selector, Tile, Tuple

N, M = symbol("N"), symbol("M")
R, Q = symbol("R", DimKind.RAGGED), symbol("Q", DimKind.RAGGED)


def unexpected() -> Dim:
    raise AssertionError("no new symbol is needed here")


def test_kinds_are_ordered_by_freedom() -> None:
    assert DimKind.STATIC < DimKind.DYNAMIC < DimKind.RAGGED
    assert dim(3).kind is DimKind.STATIC and N.kind is DimKind.DYNAMIC and R.kind is DimKind.RAGGED


@pytest.mark.parametrize("value", [0, 1, 7, np.int64(7)])
def test_integers_are_static_dimensions(value: int) -> None:
    assert dim(value).is_static and int(dim(value)) == value and not dim(value).is_ragged


@cases(
    (-1, "-1"),
    (1.5, "1.5"),
    (5.0, "5.0"),
    (True, "True"),
    ("N", "'N'; did you mean graph.symbol('N')?"),
    (None, "None"),
)
def test_what_is_no_dimension(value: object, shown: str) -> None:
    with raising(TypeMismatch, f"a dimension must be an integer >= 0 or a symbol, not {shown}"):
        dim(value)  # type: ignore[arg-type]


def test_a_symbol_has_no_fixed_extent() -> None:
    with pytest.raises(TypeError, match=r"^dimension N has no fixed extent$"):
        int(N)


def test_symbols_are_integers_at_least_zero() -> None:
    assert N.extent.is_integer and N.extent.is_nonnegative and not N.extent.is_positive


@cases(
    (dim(0), True),
    (dim(1), False),
    (N, True),
    (R, True),
    (Dim(N.extent + 1, DimKind.DYNAMIC), False),
    (Dim(sympy.ceiling(N.extent / 4), DimKind.DYNAMIC), True),
    (Dim(sympy.Min(1, N.extent), DimKind.DYNAMIC), True),
)
def test_which_dimensions_may_be_empty(each: Dim, may: bool) -> None:
    assert each.may_be_empty is may


def test_static_and_dynamic_dimensions_combine_to_an_expression() -> None:
    assert derive(shape([2, 3]), sympy.Integer(6), unexpected) == dim(6)
    joined = derive([dim(2), N], 2 * N.extent, unexpected)
    assert joined == Dim(2 * N.extent, DimKind.DYNAMIC)


@pytest.mark.parametrize("dims", [[R], [dim(2), R], [R, N], [R, Q]])
def test_ragged_absorbs(dims: list[Dim]) -> None:
    fresh = symbol("fresh", DimKind.RAGGED)
    assert derive(dims, sympy.Integer(99), lambda: fresh) is fresh


@cases(
    ([4], 4),
    ([2, 3, 4], 24),
    ([N, 4], 4 * N.extent),
    ([N, M], N.extent * M.extent),
    ([N, R], R.extent),  # R is the total over all rows
    ([N, R, 4], 4 * R.extent),
    ([2, R, N], R.extent * N.extent),
    ([N, R, Q], Q.extent),
    ([0, 4], 0),
)
def test_number_of_elements(dims: list[Dim | int], count: object) -> None:
    assert element_count(shape(dims)) == count


def test_shapes_are_written_outermost_first() -> None:
    assert format_shape(shape([64, N, 4])) == "[64, N, 4]"
    assert format_shape(()) == "[]"


@cases((BF16, 16, 2), (FP32, 32, 4), (INT8, 8, 1), (INT32, 32, 4), (UINT32, 32, 4), (BOOL, 1, 1))
def test_scalars(dtype: object, bits: int, size: int) -> None:
    assert (dtype.bits, dtype.bytes) == (bits, size)  # type: ignore[attr-defined]
    assert as_dtype(str(dtype)) is dtype
    assert str(dtype) in DTYPES


@cases(
    (Tile(BF16, 4, 16), 128, 1024, "Tile(BF16, 4, 16)"),
    (Tile(BOOL), 1, 1, "Tile(BOOL, 1, 1)"),
    (Tile(BOOL, 3, 5), 15, 15, "Tile(BOOL, 3, 5)"),
    (Tile(FP32, N, 2), 8 * N.extent, None, "Tile(FP32, N, 2)"),
    (Selector(8), 1, 8, "Selector(8)"),
    (Selector(9), 2, 9, "Selector(9)"),
    (Tuple((Tile(BF16, 2, 2), Selector(3))), 9, 67, "(Tile(BF16, 2, 2), Selector(3))"),
    (Tuple((Tile(INT8, 1, 2), Selector(3))), 3, 19, "(Tile(INT8, 1, 2), Selector(3))"),
    (Buffer(Tile(BF16, 2, 2), shape([3, 4])), 96, 0, "Buffer(Tile(BF16, 2, 2), [3, 4])"),
    (Buffer(Tile(BF16, 2, 2), (R, dim(4))), 32 * R.extent, 0, "Buffer(Tile(BF16, 2, 2), [R, 4])"),
)
def test_size_width_and_text_of_element_types(element: Any, size: Any, bits: int | None, text: str) -> None:
    assert element.bytes == size
    assert bits is None or element.bits == bits
    assert str(element) == text == repr(element)


@cases(
    (Tile(BF16, 1, 2), np.zeros((1, 2), ml_dtypes.bfloat16), True),
    (Tile(BF16, 1, 2), np.zeros((1, 2), np.float32), False),
    (Tile(BF16, 1, 2), np.zeros((2, 1), ml_dtypes.bfloat16), False),
    (Tile(BF16, 1, 2), np.zeros(2, ml_dtypes.bfloat16), False),
    (Tile(FP32, N, 2), np.zeros((0, 2), np.float32), True),
    (Tile(FP32, N, 2), np.zeros((5, 2), np.float32), True),
    (Tile(FP32, N, 2), np.zeros((5, 3), np.float32), False),
    (Selector(2), 0, True),
    (Selector(2), 3, True),
    (Selector(2), 4, False),
    (Selector(2), -1, False),
    (Selector(2), [1], False),
    (Tuple((Selector(1), Selector(2))), (1, 3), True),
    (Tuple((Selector(1), Selector(2))), (3, 1), False),
    (Tuple((Selector(1), Selector(2))), (1,), False),
)
def test_what_a_type_accepts(element: object, value: object, accepted: bool) -> None:
    assert element.accepts(value) is accepted  # type: ignore[attr-defined]


def test_equal_types_are_equal() -> None:
    assert Tile(BF16, 2, 3) == Tile(BF16, dim(2), dim(3)) != Tile(BF16, 3, 2)
    assert hash(Tile(BF16, 2, 3)) == hash(Tile(BF16, 2, 3))
