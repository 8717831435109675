"""The largest scalar with its index: the right words exactly `latency` cycles behind a start, and over many tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import cases
from grids import samples
from scripted import GAPS
from streaming import Case

from step import Graph, interpret
from step.errors import ProgramError
from step.functions.max_index import MaxIndex
from step.language.dtypes import BF16, FP32, INT8, INT32, UINT32
from step.language.types import Tile, Tuple
from step.library import arg_max
from step.lowering.fabric import FabricConfig

TILES = [Tile(BF16, 3, 1), Tile(FP32), Tile(INT8, 2, 3), Tile(INT32, 1, 4)]


@samples(tile=TILES, k=[1, 3], link=[1, 4, 8, 64], gaps=GAPS)
def test_words(tile: Tile, k: int, link: int, gaps: list[int]) -> None:
    inputs = tile, Tile(UINT32, tile.rows, tile.cols)
    Case(MaxIndex(k), inputs, FabricConfig(link_bytes=link), reduce=True).check(24, gaps)


@samples(tile=TILES, k=[1, 3], link=[1, 8, 64])
def test_words_of_every_state(tile: Tile, k: int, link: int) -> None:
    inputs = tile, Tile(UINT32, tile.rows, tile.cols)
    Case(MaxIndex(k), inputs, FabricConfig(link_bytes=link), reduce=True).check(24, [0], scan=True)


def test_the_three_largest_of_each_place() -> None:
    values, function = np.array([[5, 1], [7, 1], [5, 1], [9, 2], [5, 0]], np.float32), MaxIndex(3)
    state = function.initial(function.state_type((), Tile(FP32, 1, 2), Tile(UINT32, 1, 2)))
    for number, each in enumerate(values):
        state = function.update(state, each[None], np.array([[number, 40 - number]], np.uint32))
    assert state[0].tolist() == [[9, 7, 5, 2, 1, 1]] and state[1].tolist() == [[3, 1, 0, 37, 38, 39]]


@cases(
    ([1, 3, 3, 2], [0, 1, 2, 3], (3, 1)),
    ([3, 1, 3], [7, 1, 4], (3, 4)),
    ([-np.inf, -np.inf], [9, 8], (-np.inf, 8)),
    ([np.inf, -np.nan, np.nan, 1], [3, 2, 1, 0], (np.nan, 1)),
    ([-0.0, 1e-40, -1e-40], [0, 1, 2], (0.0, 1)),
    ([], [], (-np.inf, 2**32 - 1)),
)
def test_ties_and_special_numbers(values: list[float], indices: list[int], result: tuple[float, int]) -> None:
    """As if in any order."""
    for dtype in (BF16, FP32):
        for turn in (1, -1):
            state = MaxIndex().initial(Tuple((Tile(dtype), Tile(UINT32))))
            for value, index in list(zip(values, indices, strict=True))[::turn]:
                state = MaxIndex().update(state, np.array([[value]], dtype.numpy), np.array([[index]], np.uint32))
            assert str((float(state[0].item()), state[1].item())) == str((float(result[0]), result[1]))


def test_integers() -> None:
    state = MaxIndex().initial(Tuple((Tile(INT8), Tile(UINT32))))
    assert state[0].item() == -128
    assert MaxIndex().update(state, np.array([[-128]], np.int8), np.array([[5]], np.uint32))[1].item() == 5


@pytest.mark.parametrize(("rows", "dtype"), [(1, BF16), (3, FP32)])
def test_arg_max_of_many_tiles(rows: int, dtype: Any) -> None:
    random = np.random.default_rng(rows)
    logits = random.standard_normal((4, rows, 40)).astype(dtype.numpy)
    logits[1, :, [30, 7, 11]] = 9  # in three tiles: the first one counts
    graph = Graph("vocabulary")
    tiles = graph.source("logits", Tile(dtype, rows, 8), [4, 5])
    arg_max(tiles).sink("chosen")
    given = logits.reshape(4, rows, 5, 8).transpose(0, 2, 1, 3)
    chosen = [each.value for each in interpret(graph, {"logits": given}).outputs["chosen"] if each.has_value]
    assert (np.array(chosen)[..., 0] == logits.astype(np.float32).argmax(axis=2)).all()
    assert chosen[1].ravel().tolist() == [7] * rows


def test_arg_max_of_what_is_not_static(graph: Graph) -> None:
    tiles = graph.source("logits", Tile(BF16, 1, 8), [4, graph.symbol("n", ragged=True)])
    with pytest.raises(ProgramError) as caught:
        arg_max(tiles, name="best")
    text = str(caught.value)
    assert text.partition(" (")[0] == "arg_max 'best'"
    assert text.partition("): ")[2] == (
        "rows must be a fixed number of static tiles, but logits is [4, n] of Tile(BF16, 1, 8)"
    )
