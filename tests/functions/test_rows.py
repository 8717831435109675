"""Functions of rows: the right words exactly `latency` cycles behind a start, at the interval and with gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import cases
from grids import samples
from scripted import GAPS
from streaming import Case

from step.functions.row import ArgMax, RowMax, RowSum
from step.language.dtypes import BF16, FP32, INT8, INT32
from step.language.types import Tile
from step.lowering.fabric import FabricConfig

ROWS: list[tuple[Any, Tile]] = [
    (RowSum(), Tile(BF16, 3, 5)),
    (RowSum(BF16), Tile(FP32, 3, 4)),
    (RowSum(BF16), Tile(BF16, 4, 1)),
    (RowSum(), Tile(INT8, 3, 6)),
    (RowMax(), Tile(BF16, 3, 5)),
    (RowMax(), Tile(FP32, 1, 7)),
    (RowMax(), Tile(INT8, 3, 4)),
    (RowMax(), Tile(INT32, 2, 3)),
    (ArgMax(), Tile(BF16, 3, 5)),
    (ArgMax(), Tile(FP32, 1, 7)),
    (ArgMax(), Tile(INT8, 3, 40)),
    (ArgMax(), Tile(INT32, 2, 1)),
    (RowSum(sum="fused", terms=4), Tile(BF16, 3, 5)),
    (RowSum(BF16, "fused", 8), Tile(FP32, 2, 21)),
    (RowSum(sum="fused"), Tile(BF16, 4, 19)),
]


@samples(row=ROWS, lanes=[1, 5, 100], link=[1, 4, 64], gaps=GAPS)
def test_rows(row: tuple[Any, Tile], lanes: int, link: int, gaps: list[int]) -> None:
    function, tile = row
    Case(function, (tile,), FabricConfig(vector_lanes=lanes, link_bytes=link)).check(9, gaps)


def random_case(random: np.random.Generator) -> Case:
    """Any function, shape, format, lanes and link."""

    def one_of(*choices: Any) -> Any:
        return choices[random.integers(len(choices))]

    rows, cols = (int(each) for each in random.integers(1, 10, 2))
    dtype = one_of(BF16, FP32, INT8, INT32)
    ordered = RowSum(one_of(BF16, FP32) if dtype.is_float else None)
    fused = RowSum(sum="fused", terms=one_of(4, 8, 16, 32)) if dtype.is_float else ordered
    function = one_of(RowMax(), ArgMax(), ordered, fused)
    cols *= one_of(1, 3) if function == fused else 1
    lanes, link = one_of(1, 2, 3, 4, 5, 8, 16, 100), one_of(1, 2, 4, 8, 16, 32, 64, 4096)
    fabric = FabricConfig(vector_lanes=lanes, link_bytes=link, stages=one_of(1, 2, 3, 4))
    return Case(function, (Tile(dtype, rows, cols),), fabric)


@pytest.mark.parametrize("count", [20, pytest.param(60, marks=pytest.mark.slow)])
def test_random_rows(count: int) -> None:
    random = np.random.default_rng(3)
    for seed in range(count):
        random_case(random).check(7, GAPS[seed % 2], seed)


@cases(
    (RowSum(), Tile(BF16, 16, 16), 32, 8, 32, 24),  # two rows a word: a pipeline
    (RowSum(), Tile(BF16, 16, 16), 16, 16, 16, 33),
    (RowSum(), Tile(BF16, 16, 64), 32, 32, 32, 56),  # a row is two words
    (RowMax(), Tile(BF16, 16, 16), 32, 8, 32, 12),
    (ArgMax(), Tile(BF16, 16, 16), 32, 8, 32, 12),
    (ArgMax(), Tile(FP32, 1, 256), 16, 16, 16, 24),
    (RowSum(), Tile(FP32, 1, 256), 16, 16, 16, 48),
)
def test_rows_of_words(function: Any, tile: Tile, lanes: int, interval: int, used: int, latency: int) -> None:
    path: Any = (case := Case(function, (tile,), FabricConfig(vector_lanes=lanes))).path
    assert (path.initiation_interval, path.arrangement.lanes, path.latency) == (interval, used, latency)
    case.check(3, [0])


def test_neighbours_are_added_first() -> None:
    """As the docs say: pairs, then pairs of these."""
    big = np.array([[2**24, 1, 1, -(2**24), 1]], np.float32)
    assert RowSum().apply(big).tolist() == [[2.0]]  # (2^24 + 1 = 2^24) + (1 - 2^24), and then + 1
    assert RowSum().apply(big[:, [0, 3, 1, 2, 4]]).tolist() == [[3.0]]


def test_special_numbers() -> None:
    zeros = np.array([[-0.0, -0.0], [0.0, -0.0], [1e-40, -1e-40]], np.float32)
    assert np.signbit(RowSum().apply(zeros)).ravel().tolist() == [True, False, False]
    assert np.signbit(RowMax().apply(zeros)).ravel().tolist() == [True, False, False]
    assert np.signbit(RowSum().apply(zeros[:, :1])).ravel().tolist() == [True, False, False]
    wild = np.array([[np.nan, np.inf], [-np.inf, -np.inf], [np.inf, -np.inf]], BF16.numpy)
    assert [str(each) for each in RowMax().apply(wild).ravel()] == ["nan", "-inf", "inf"]
    assert [str(each) for each in RowSum().apply(wild).ravel()] == ["nan", "-inf", "nan"]


def test_the_largest_column() -> None:
    """Of equal ones the first, in the order of `RowMax`; ordinary tiles as NumPy does it."""
    nan, inf = np.nan, np.inf
    rows = [[1, 3, 3, 2], [-0.0, 0.0, 0.0, -1], [-inf, -inf, -inf, -inf], [inf, -nan, nan, 1], [-1e-40, 1e-40, 0, -1]]
    for dtype in (BF16, FP32):
        assert ArgMax().apply(np.array(rows, dtype.numpy)).ravel().tolist() == [1, 1, 0, 1, 1]
    tile = np.random.default_rng(1).standard_normal((9, 33)).astype(np.float32)
    assert (ArgMax().apply(tile) == tile.argmax(axis=1, keepdims=True)).all()
    assert ArgMax().apply(np.array([[-128, -128, -127]], np.int8)).tolist() == [[2]]


def test_integers_wrap_around() -> None:
    assert RowSum().apply(np.array([[2**31 - 1, 1]], np.int32)).tolist() == [[-(2**31)]]
    assert RowSum().apply(np.full((1, 200), 127, np.int8)).tolist() == [[25400]]
