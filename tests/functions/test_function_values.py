"""The NumPy definitions against float64."""

from __future__ import annotations

import numpy as np
import patterns
import pytest
from cases import cases

from step.functions.cache import CacheEnd, CacheRows, CacheTiles, ExpertTiles
from step.functions.cast import Cast
from step.functions.elementwise import Add, Mul
from step.functions.matmul import Matmul
from step.functions.retile import RetileCol, RetileRow, RetileStreamify
from step.functions.select import SelectAll, SelectValid
from step.functions.silu import sigmoid_table
from step.language.dtypes import BF16, FP32, UINT32, DType
from step.language.function import CountedFunction
from step.language.tokens import Token, empty
from step.language.types import Tile


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("rows, inner, cols", [(16, 16, 16), (1, 64, 3), (5, 1, 7), (0, 4, 4)])
def test_matmul_is_close_to_float64(rows: int, inner: int, cols: int, transposed: bool) -> None:
    """K sums, each off by half a unit of the largest partial sum at most: K * 2^-24 * |A| x |B|."""
    random = np.random.default_rng(2)
    first = random.standard_normal((rows, inner)).astype(BF16.numpy)
    second = random.standard_normal((inner, cols)).astype(BF16.numpy)
    got = Matmul(transposed).apply(first, second.T if transposed else second)
    left, right = first.astype(np.float64), second.astype(np.float64)
    assert got.dtype == np.float32 and got.shape == (rows, cols)
    assert np.all(np.abs(got - left @ right) <= inner * 2.0**-24 * (np.abs(left) @ np.abs(right)))


def test_matmul_sums_in_order_from_the_state_on() -> None:
    random = np.random.default_rng(3)
    first, second = (patterns.tile(random, Tile(BF16, 4, 4), wild=0) for _ in range(2))
    expected = np.ones((4, 4), np.float32)
    for k in range(4):
        expected = expected + first[:, k : k + 1].astype(np.float32) * second[k].astype(np.float32)
    state = np.ones((4, 4), np.float32)
    assert np.array_equal(Matmul().update(state, first, second), expected)
    assert np.all(state == 1), "the old state stays"


def test_matmul_takes_nan_infinity_and_subnormal_numbers() -> None:
    row = np.array([[np.inf, 1.0]], np.float32).astype(BF16.numpy)
    columns = np.array([[0.0, 1.0, 1e-40], [1.0, -np.inf, 1.0]], np.float32).astype(BF16.numpy)
    assert [hex(each) for each in Matmul().apply(row, columns)[0].view(np.uint32)] == ["0x7fc00000"] * 3


@pytest.mark.parametrize("dtype", [BF16, FP32])
@pytest.mark.parametrize("function, ufunc", [(Add, np.add), (Mul, np.multiply)])
def test_elementwise_is_numpy_on_ordinary_numbers(function: type, ufunc: np.ufunc, dtype: DType) -> None:
    random = np.random.default_rng(4)
    first, second = patterns.tile(random, Tile(dtype, 8, 8), wild=0), patterns.tile(random, Tile(dtype, 1, 8), wild=0)
    wide = ufunc(first.astype(np.float32), second.astype(np.float32))
    assert np.array_equal(function().apply(first, second), wide.astype(dtype.numpy))
    assert np.array_equal(function(FP32).apply(first, second), wide)
    state = wide.astype(np.float32)
    assert np.array_equal(function().update(state, first), ufunc(state, first.astype(np.float32)))


@pytest.mark.parametrize("function, start", [(Add(), 0.0), (Mul(BF16), 1.0)])
def test_reductions_start_at_the_identity(function: Add | Mul, start: float) -> None:
    state = function.state_type((), Tile(BF16, 2, 3))
    assert np.array_equal(function.initial(state), np.full((2, 3), start, state.dtype.numpy))


def test_cast_rounds_to_nearest_even() -> None:
    value = np.array([[1 + 2.0**-8, 1 + 3 * 2.0**-8, 1e-40, np.inf]], np.float32)
    assert [float(each) for each in Cast(BF16).apply(value)[0]] == [1.0, 1 + 2.0**-6, 0.0, np.inf]
    assert np.array_equal(Cast(FP32).apply(value)[0, :2], value[0, :2])


def test_the_sigmoid_table_fits_its_words() -> None:
    for value, slope in sigmoid_table().entries:
        assert 1 << 17 <= value < 1 << 19 and 0 <= slope < 1 << 14 and value + slope <= 1 << 19


def test_retile_joins_in_order() -> None:
    tiles = [np.full((2, 3), at, np.float32) for at in range(3)]
    for function, axis in ((RetileRow(), 0), (RetileCol(), 1)):
        state = function.initial(function.state_type((), Tile(FP32, 2, 3)))
        for tile in tiles:
            state = function.update(state, tile)
        assert np.array_equal(state, np.concatenate(tiles, axis=axis))


def test_retile_streamify_ends_its_stream_with_its_rank() -> None:
    tile = np.arange(8, dtype=np.float32).reshape(4, 2)
    tokens = list(RetileStreamify(2, "row", 1).expand(tile))
    assert [token.stop for token in tokens] == [0, 1]
    assert np.array_equal(np.concatenate([token.value for token in tokens]), tile)
    columns = list(RetileStreamify(1, "col").expand(tile))
    assert [token.stop for token in columns] == [0, 0] and np.array_equal(columns[1].value, tile[:, 1:])
    assert list(RetileStreamify(rank=1).expand(tile[:0])) == [empty(1)]


def test_selectors() -> None:
    assert [SelectValid().apply(np.array([[flag]])) for flag in (False, True)] == [1, 0]
    assert SelectAll(3).apply(np.zeros((1, 1))) == 0b111
    assert isinstance(Token(SelectAll(2).apply(None)).value, int)


def number(value: int) -> np.ndarray:
    return np.array([[value]], UINT32.numpy)


def all_pieces(function: CountedFunction, *values: int | np.ndarray) -> list[int]:
    found = [function.piece(index, *values) for index in range(function.pieces(*values))]
    assert all((each.dtype, each.shape) == (np.uint32, (1, 1)) for each in found)
    return [int(each.item()) for each in found]


@cases((0, []), (1, [1]), (3, [3]), (4, [4]), (5, [4, 1]), (8, [4, 4]), (11, [4, 4, 3]))
def test_valid_rows_of_the_tiles_of_a_cache(length: int, rows: list[int]) -> None:
    """Request 2 has the tiles from 10 + 2 * 3 on, one for each of these numbers."""
    assert all_pieces(CacheRows(4), number(length)) == rows
    addresses = all_pieces(CacheTiles(3, 3, 4, base=10), number(2), number(length))
    assert addresses == [16, 17, 18][: len(rows)]
    end = CacheEnd(3, 3, 4, base=10).apply(number(2), number(length))
    assert end.dtype == np.uint32 and end.item() == 16 + length // 4


def test_tiles_of_an_expert() -> None:
    """By number, and as the one target that a selector has."""
    for expert, value in ((0, 0b001), (2, 0b100)):
        wanted = [5 + 4 * expert + each for each in range(4)]
        assert all_pieces(ExpertTiles(3, 4, base=5), number(expert)) == wanted
        assert all_pieces(ExpertTiles(3, 4, base=5), value) == wanted
