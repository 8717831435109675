"""Functions that replace rows or columns: the right words exactly `latency` cycles behind a start."""

from __future__ import annotations

import numpy as np
import pytest
from grids import samples
from scripted import GAPS
from streaming import Case

from step import Graph, interpret
from step.functions.edit import AppendRow, CausalMask, FilterLastTile, SetRow
from step.functions.select import KeepTopK, TopK
from step.language.dtypes import BF16, BOOL, FP32, INT8, UINT32
from step.language.types import Tile
from step.library import top_k_weights
from step.lowering.fabric import FabricConfig

INF, INDEX = float("inf"), Tile(UINT32)
TILES = [Tile(BF16, 4, 3), Tile(FP32, 2, 8), Tile(INT8, 8, 1), Tile(BOOL, 4, 5), Tile(FP32, 1, 3)]


@samples(tile=TILES, link=[1, 2, 8, 64])
def test_edits(tile: Tile, link: int) -> None:
    row = Tile(tile.dtype, 1, tile.cols)
    pads = [0.0, -INF] if tile.dtype.is_float else [1.0]
    for function in (SetRow(), AppendRow(), *(FilterLastTile(pad, axis) for pad in pads for axis in ("row", "col"))):
        inputs = (tile, INDEX) if isinstance(function, FilterLastTile) else (tile, INDEX, row)
        case = Case(function, inputs, FabricConfig(link_bytes=link))
        for gaps in GAPS:
            case.check(12, gaps)


@samples(tile=TILES, link=[1, 2, 8, 64])
def test_causal_masks(tile: Tile, link: int) -> None:
    case = Case(CausalMask(-INF if tile.dtype.is_float else 1.0), (tile, INDEX, INDEX), FabricConfig(link_bytes=link))
    for gaps in GAPS:
        case.check(12, gaps)


@pytest.mark.parametrize("query", [0, 3, 7, 2**31, 2**32 - 3])
def test_causal_masks_of_any_positions(query: int) -> None:
    """As far apart as they may be, and as near as a tile is large; the datapath says the same."""
    tile = np.arange(12, dtype=np.float32).reshape(3, 4)
    case = Case(CausalMask(), (Tile(FP32, 3, 4), INDEX, INDEX), FabricConfig(link_bytes=8))
    positions = [*range(max(0, query - 6), min(2**32, query + 6)), 0, 2**32 - 1]
    for key in positions:
        found = CausalMask().apply(tile, number(query), number(key))
        wanted = [[-INF if key + c > query + r else tile[r, c] for c in range(4)] for r in range(3)]
        assert found.tolist() == wanted
    drawn = iter([each for key in positions for each in (tile, number(query), number(key))])
    case.draw = lambda random, port: next(drawn)  # type: ignore[method-assign]
    case.check(len(positions), [0])


def number(value: int) -> np.ndarray:
    return np.array([[value]], np.uint32)


def test_what_they_do() -> None:
    tile = np.arange(8, dtype=np.float32).reshape(4, 2)
    row = np.array([[8, 9]], np.float32)
    assert SetRow().apply(tile, number(2), row).tolist() == [[0, 1], [2, 3], [8, 9], [6, 7]]
    for length in (1, 5, 4097):
        assert AppendRow().apply(tile, number(length), row).tolist() == [[0, 1], [8, 9], [0, 0], [0, 0]]
    assert FilterLastTile().apply(tile, number(1)).tolist() == [[0, 1], [0, 0], [0, 0], [0, 0]]
    assert FilterLastTile(-INF, "col").apply(tile, number(1)).tolist() == [[0, -INF], [2, -INF], [4, -INF], [6, -INF]]
    for count in (4, 5, 2**32 - 1):
        assert (FilterLastTile().apply(tile, number(count)) == tile).all()
    assert np.isnan(FilterLastTile(float("nan")).apply(tile, number(0))).all()


def test_top_k() -> None:
    nan = float("nan")
    for scores, k, chosen in (
        ([1, 3, 2, 3], 1, 0b0010),
        ([1, 3, 2, 3], 2, 0b1010),
        ([5, 5, 5, 5], 3, 0b0111),
        ([0, nan, INF, -INF], 1, 0b0010),
        ([-nan, nan, INF, -INF], 3, 0b0111),
        ([-0.0, 0.0, -1, -INF], 1, 0b0010),
        ([1e-40, 0.0, -1e-40, -INF], 2, 0b0011),
        ([-INF, nan, -2, -1], 3, 0b1110),
    ):
        assert TopK(k).apply(np.array([scores], np.float32)) == chosen, (scores, k)
        assert TopK(k).apply(np.array([scores], np.float32).astype(BF16.numpy)) == chosen, (scores, k)
        row = np.array([scores, scores[::-1]], np.float32)
        kept = KeepTopK(k).apply(row)
        wanted = [value if chosen >> at & 1 and abs(value) != 1e-40 else 0 for at, value in enumerate(scores)]
        assert np.array_equal(kept[0], np.array(wanted, np.float32), equal_nan=True), (scores, k)
        assert np.count_nonzero(kept[1]) <= k
    assert TopK(2).apply(np.array([[-128, 127, -1, 5]], np.int8)) == 0b1010
    assert TopK(2).apply(np.array([[-(2**31), 2**31 - 1, -1, 0]], np.int32)) == 0b1010


def test_weights_of_what_is_chosen() -> None:
    """As torch does it: topk, then each by their sum; zeros elsewhere."""
    random = np.random.default_rng(5)
    scores = random.random((4, 3, 8)).astype(np.float32)
    graph = Graph("router")
    top_k_weights(graph.source("scores", Tile(FP32, 3, 8), [4]), 2).sink("weights")
    weights = np.array(
        [each.value for each in interpret(graph, {"scores": scores}).outputs["weights"] if each.has_value]
    )
    second = np.sort(scores, axis=2)[..., -2:-1]
    kept = np.where(scores >= second, scores, 0)
    assert np.allclose(weights, kept / kept.sum(axis=2, keepdims=True), rtol=3e-6)
    assert ((weights > 0).sum(axis=2) == 2).all()
