"""Functions that join tiles, and those that are wires: the right words exactly `latency` cycles behind a start."""

from __future__ import annotations

import numpy as np
import pytest
from cases import cases
from scripted import GAPS
from streaming import Case

from hw.functions.packed_rows import PackedRows
from step.functions.retile import RetileCol, RetileRow
from step.functions.select import SelectAll, SelectValid
from step.language.dtypes import BF16, BOOL, FP32, INT8
from step.language.function import Function
from step.language.types import ElementType, Selector, Tile
from step.lowering.fabric import FabricConfig
from step.lowering.plans.parts import Parts, Store
from step.lowering.plans.retile import JoinPlan


@cases(
    (RetileRow(), Tile(BF16, 1, 16), 16, 64),  # two tiles a word
    (RetileRow(), Tile(BF16, 1, 16), 5, 64),  # the last word in part
    (RetileRow(), Tile(BF16, 4, 16), 4, 8),  # whole words
    (RetileRow(), Tile(INT8, 1, 3), 5, 16),  # a result of one word
    (RetileRow(), Tile(FP32, 3, 4), 1, 16),
    (RetileCol(), Tile(FP32, 1, 4), 3, 8),
    (RetileCol(), Tile(BOOL, 1, 3), 6, 4),
    (RetileCol(), Tile(FP32, 4, 16), 3, 64),  # a word a line
    (RetileCol(), Tile(FP32, 3, 8), 2, 8),  # several words a line
    (RetileCol(), Tile(BF16, 5, 8), 3, 64),  # four lines a word, the last word in part
    (RetileCol(), Tile(INT8, 2, 4), 5, 16),
    (RetileCol(), Tile(FP32, 2, 2), 1, 16),
)
def test_join(function: Function, tile: Tile, tiles: int, link: int) -> None:
    case = Case(function, (tile,), FabricConfig(link_bytes=link), reduce=True, tiles=tiles)
    for gaps in GAPS:
        case.check(4 * tiles + 3, gaps)


@pytest.mark.parametrize("count", [30, pytest.param(80, marks=pytest.mark.slow)])
def test_random_joins(count: int) -> None:
    random = np.random.default_rng(5)
    for seed in range(count):
        cols, tiles = (int(each) for each in random.integers(1, 9, 2))
        rows = int(random.choice([1, 1, 2, 5]))
        tile = Tile([BF16, FP32, BOOL, INT8][random.integers(4)], rows, cols)
        link = 2 ** int(random.integers(7))
        case = Case(
            RetileRow() if rows == 1 else RetileCol(), (tile,), FabricConfig(link_bytes=link), reduce=True, tiles=tiles
        )
        if case.path.streams:
            case.check(3 * tiles + 4, GAPS[seed % 2], seed)
        else:
            assert case.path.latency == 1


@cases((SelectValid(), Tile(BOOL)), (SelectAll(3), Tile(BF16, 3, 4)), (SelectAll(2), Selector(5)))
def test_wires(function: Function, element: ElementType) -> None:
    case = Case(function, (element,), FabricConfig(link_bytes=8))
    assert case.formula() == (1, 0, True)
    case.check(9, GAPS[1])


def test_rows_are_joined_in_words_no_wider_than_the_result() -> None:
    """On a link of 4,096 bytes the shifter of 12 bytes had 32,768 places, and its Verilog no end."""
    narrow, wide = (PackedRows(JoinPlan(12, 1, 8, link, 96, 8, dynamic=True)) for link in (96, 32768))
    assert narrow.plan.store == wide.plan.store == Store(Parts(12, 8), Parts(1, 96))
