"""Functions that join tiles, and those that are wires: the right words exactly `latency` cycles behind a start."""

from __future__ import annotations

import numpy as np
import pytest
from streaming import Case

from step.functions.retile import RetileCol, RetileRow
from step.functions.select import SelectAll, SelectValid
from step.language.dtypes import BF16, BOOL, FP32, INT8
from step.language.function import Function
from step.language.types import ElementType, Selector, Tile
from step.lowering.fabric import FabricConfig

GAPS = [[0], [0, 0, 3, 0, 1, 7]]


@pytest.mark.parametrize("link", [4, 8, 16, 64])
@pytest.mark.parametrize(
    "function, tile, tiles",
    [
        (RetileRow(), Tile(BF16, 1, 16), 16),  # on 64 bytes two tiles a word
        (RetileRow(), Tile(BF16, 4, 16), 4),  # whole words
        (RetileRow(), Tile(INT8, 1, 3), 5),  # neither, unless the result is one word
        (RetileRow(), Tile(FP32, 3, 5), 1),
        (RetileCol(), Tile(FP32, 1, 4), 3),
        (RetileCol(), Tile(BF16, 16, 4), 4),  # the second word of a tile is read after the next tile's comes
        (RetileCol(), Tile(BOOL, 7, 3), 6),
    ],
)
def test_join(function: Function, tile: Tile, tiles: int, link: int) -> None:
    case = Case(function, (tile,), FabricConfig(link_bytes=link), reduce=True, tiles=tiles)
    for gaps in GAPS:
        case.check(4 * tiles + 3, gaps)


def test_random_joins() -> None:
    random = np.random.default_rng(5)
    for seed in range(60):
        rows, cols, tiles = (int(each) for each in random.integers(1, 7, 3))
        tile = Tile([BF16, FP32, BOOL, INT8][random.integers(4)], rows, cols)
        link, function = 2 ** int(random.integers(7)), [RetileRow(), RetileCol()][random.integers(2)]
        case = Case(function, (tile,), FabricConfig(link_bytes=link), reduce=True, tiles=tiles)
        case.check(3 * tiles + 4, GAPS[seed % 2], seed)


@pytest.mark.parametrize(
    "function, element",
    [(SelectValid(), Tile(BOOL)), (SelectAll(3), Tile(BF16, 3, 4)), (SelectAll(2), Selector(5))],
)
def test_wires(function: Function, element: ElementType) -> None:
    case = Case(function, (element,), FabricConfig(link_bytes=8))
    assert case.formula() == (1, 0, True)
    case.check(9, GAPS[1])
