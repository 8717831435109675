"""Functions of rows and tiles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scenarios.scenario import STREAMS, Bench, add, broken, builder, pair, renumbered, scenario, single
from step.functions.edit import AppendRow, CausalMask, FilterLastTile, SetRow
from step.functions.matmul import Matmul
from step.functions.max_index import MaxIndex
from step.functions.pick import Column, RotateHalf
from step.functions.retile import RetileRow
from step.functions.row import ArgMax, RowMax, RowSum
from step.functions.select import KeepTopK, TopK
from step.functions.silu import Silu
from step.functions.transpose import Transpose
from step.language.dtypes import BF16, BOOL, FP32, INT8, INT32, UINT32
from step.language.faults import Fault
from step.language.function import MapFunction
from step.language.graph import Graph
from step.language.stream import Stream
from step.language.types import Tile
from step.library import arg_max

_SOME = STREAMS[1], STREAMS[5], STREAMS[10]

for _what, _rank, _text in _SOME:
    _name = f"{_what}{_rank}"
    single("map", f"row_sum-{_name}", _rank, _text, lambda x: x.map(RowSum()), Tile(BF16, 3, 4))
    single("map", f"row_max-{_name}", _rank, _text, lambda x: x.map(RowMax()), Tile(FP32, 2, 3))
    single("map", f"arg_max-{_name}", _rank, _text, lambda x: x.map(ArgMax()), Tile(FP32, 2, 37))

_ROWS = "E1 1 2 S1 3 4 5 S1 D"
single("map", "row_sum-long", 1, _ROWS, lambda x: x.map(RowSum(BF16)), Tile(FP32, 1, 11))
single("map", "row_sum-column", 1, _ROWS, lambda x: x.map(RowSum(BF16)), Tile(BF16, 5, 1))
single("map", "row_sum-fused", 1, _ROWS, lambda x: x.map(RowSum(sum="fused", terms=8)), Tile(FP32, 2, 21))
single("map", "row_sum-integers", 1, _ROWS, lambda x: x.map(RowSum()), Tile(INT8, 2, 8))
single("map", "arg_max-control", 1, _ROWS, lambda x: x.map(ArgMax()), Tile(BF16, 1, 5))
single("map", "row_max-integers", 1, _ROWS, lambda x: x.map(RowMax()), Tile(INT32, 3, 5))


@builder
def _largest(bench: Bench, tile: Tile, verb: str, k: int = 1) -> None:
    """Values with their indices; who wins goes on, and so does its value."""
    x = bench.play("x", "1 22 S1 E1 3 24 25 S2 E2 6 S2 D", ["N", "M", "K"], tile)
    i = bench.play("i", "7 8 S1 E1 3 3 1 S2 E2 5 S2 D", x.shape, Tile(UINT32, tile.rows, tile.cols))
    found = x.accum(MaxIndex(k), i, rank=2) if verb == "accum" else x.scan(MaxIndex(k), i, exclusive=True)
    found.item_of(0).sink("values")
    found.item_of(1).sink("indices")
    found.sink("both")


for _tile in (Tile(BF16), Tile(FP32, 3, 1), Tile(INT8, 2, 2)):
    for _verb in ("accum", "scan"):
        add(_verb, f"max_index-{_tile.dtype}", _largest(_tile, _verb))
    add("accum", f"max_index-several-{_tile.dtype}", _largest(_tile, "accum", 3))


@scenario("accum", "max_index-of-tiles")
def _vocabulary(bench: Bench) -> None:
    arg_max(bench.play("x", "1 12 3 S1 4 56 65 S1 D", ["N", 3], Tile(BF16, 1, 5))).sink("y")


for _what, _rank, _text in _SOME:
    single("map", f"rotate_half-{_what}{_rank}", _rank, _text, lambda x: x.map(RotateHalf()), Tile(BF16, 3, 8))
    single("map", f"column-{_what}{_rank}", _rank, _text, lambda x: x.map(Column(2)), Tile(BF16, 5, 9))
single("map", "rotate_half-words", 1, _ROWS, lambda x: x.map(RotateHalf()), Tile(FP32, 3, 40))
single("map", "column-control", 1, _ROWS, lambda x: x.map(Column(1)), Tile(UINT32, 1, 3))

for _what, _rank, _text in _SOME:
    single("map", f"transpose-{_what}{_rank}", _rank, _text, lambda x: x.map(Transpose()), Tile(BF16, 3, 4))
single("map", "transpose-row", 1, _ROWS, lambda x: x.map(Transpose()), Tile(FP32, 1, 7))
single("map", "transpose-column", 1, _ROWS, lambda x: x.map(Transpose()), Tile(BF16, 5, 1))
single("map", "transpose-bits", 1, _ROWS, lambda x: x.map(Transpose()), Tile(BOOL, 3, 5))
single("map", "transpose-scalar", 1, _ROWS, lambda x: x.map(Transpose()), Tile(UINT32))
single("map", "transpose-twice", 1, _ROWS, lambda x: x.map(Transpose()).map(Transpose()), Tile(INT8, 3, 2))


# -- a transposed second operand, whoever makes it ---------------------------------------------------------------------


@builder
def _keys(bench: Bench, make: Callable[[Graph, Bench, Stream], Stream], reduce: bool = False) -> None:
    """Queries [2, 3] against keys [4, 3] that ``make`` gives for every one of them."""
    queries = bench.play("q", "1 2 S1 E1 3 4 5 S1 D", ["N", "M"], Tile(BF16, 2, 3))
    keys = make(bench.graph, bench, queries)
    product = Matmul(transposed=True)
    (queries.accum(product, keys) if reduce else queries.map(product, keys)).sink("y")


def _loaded(graph: Graph, bench: Bench, queries: Stream) -> Stream:
    bench.inputs["k"] = (np.arange(24) % 7 - 3).reshape(8, 3).astype(BF16.numpy)
    tensor = graph.tensor("k", (8, 3), BF16)
    loaded = graph.load(tensor, tile=(4, 3), out=(1,), offset=1, reference=queries).flatten(0, 1)
    return loaded.assume_shape(queries.shape)


def _played(graph: Graph, bench: Bench, queries: Stream, element: Tile = Tile(BF16, 4, 3)) -> Stream:  # noqa: B008
    return bench.play("k", "9 8 S1 E1 7 6 5 S1 D", queries.shape, element)


def _mapped(graph: Graph, bench: Bench, queries: Stream) -> Stream:
    return _played(graph, bench, queries).map(Silu())


def _turned(graph: Graph, bench: Bench, queries: Stream) -> Stream:
    return _played(graph, bench, queries, Tile(BF16, 3, 4)).map(Transpose())


def _gathered(graph: Graph, bench: Bench, queries: Stream) -> Stream:
    shape = [*queries.shape, 4]
    text = "9 8 7 6 S1 8 7 6 5 S2 E2 1 2 3 4 S1 2 3 4 5 S1 6 7 8 9 S2 D"
    return bench.play("k", text, shape, Tile(BF16, 1, 3)).accum(RetileRow())


for _name, _make in (
    ("load", _loaded), ("channel", _played), ("map", _mapped), ("transpose", _turned), ("accum", _gathered),
):  # fmt: skip
    add("map", f"matmul-transposed-{_name}", _keys(_make))
    add("accum", f"matmul-transposed-{_name}", _keys(_make, reduce=True))


_FUSED = Matmul(sum="fused", terms=4)
for _what, _rank, _text in _SOME:
    _second = renumbered(_text)
    _left, _right = Tile(BF16, 2, 10), Tile(BF16, 10, 3)  # three steps of k, of which the last one is half full
    pair("map", f"matmul-fused-{_what}{_rank}", _rank, _text, _second, (_left, _right), lambda x, w: x.map(_FUSED, w))
    if _rank:
        pair("accum", f"matmul-fused-{_what}{_rank}", _rank, _text, _second, (_left, Tile(BF16, 3, 10)),
             lambda x, w: x.accum(Matmul(True, sum="fused"), w))  # fmt: skip


_PRODUCT = Matmul(out=INT32)
for _what, _rank, _text in _SOME:
    _second = renumbered(_text)
    _left, _right = Tile(INT8, 2, 4), Tile(INT8, 4, 3)
    pair("map", f"matmul-int8-{_what}{_rank}", _rank, _text, _second, (_left, _right), lambda x, w: x.map(_PRODUCT, w))
    pair("map", f"matmul-int4-{_what}{_rank}", _rank, _text, _second, (_left, _right),
         lambda x, w: x.map(Matmul(out=INT32, bits=4), w))  # fmt: skip
    if _rank:
        pair("accum", f"matmul-int8-{_what}{_rank}", _rank, _text, _second, (_left, Tile(INT8, 3, 4)),
             lambda x, w: x.accum(Matmul(True, INT32), w))  # fmt: skip


# -- indices and counts, which are control -----------------------------------------------------------------------------


@builder
def _edit(bench: Bench, function: MapFunction, tile: Tile, indices: str) -> None:
    """Tiles, ``indices`` for them, and rows where ``function`` takes some."""
    x = bench.play("x", "1 2 S1 E1 3 4 5 S1 D", ["N", "M"], tile)
    others = [bench.play("i", indices, x.shape, Tile(UINT32))]
    if isinstance(function, CausalMask):
        others.append(bench.play("k", "1 0 S1 E1 4 2 3000000000 S1 D", x.shape, Tile(UINT32)))
    elif not isinstance(function, FilterLastTile):
        others.append(bench.play("r", "31 32 S1 E1 33 34 35 S1 D", x.shape, Tile(tile.dtype, 1, tile.cols)))
    x.map(function, *others).sink("y")


_INDICES, _INF = "0 3 S1 E1 1 2 0 S1 D", float("inf")
for _tile in (Tile(BF16, 4, 4), Tile(FP32, 4, 3), Tile(INT8, 4, 2)):
    add("map", f"set_row-{_tile.dtype}", _edit(SetRow(), _tile, _INDICES))
    add("map", f"append_row-{_tile.dtype}", _edit(AppendRow(), _tile, _INDICES.replace("2", "4002")))
    for _axis in ("row", "col"):
        _pad = -_INF if _tile.dtype.is_float else 9.0
        _counts = _INDICES.replace("3", "4000000000")
        add("map", f"filter_last_tile-{_axis}-{_tile.dtype}", _edit(FilterLastTile(_pad, _axis), _tile, _counts))
    add("map", f"causal_mask-{_tile.dtype}", _edit(CausalMask(_pad), _tile, _INDICES))
add("map", "set_row-one", _edit(SetRow(), Tile(FP32, 1, 3), "0 0 S1 E1 0 0 0 S1 D"))
add("map", "append_row-one", _edit(AppendRow(), Tile(FP32, 1, 3), _INDICES))
broken("map", "set_row", Fault.OUT_OF_RANGE, _edit(SetRow(), Tile(BF16, 3, 2), _INDICES))

for _what, _rank, _text in _SOME:
    single("map", f"top_k-{_what}{_rank}", _rank, _text, lambda x: x.map(TopK(2)), Tile(BF16, 1, 7))
    single("map", f"keep_top_k-{_what}{_rank}", _rank, _text, lambda x: x.map(KeepTopK(2)), Tile(BF16, 3, 5))
single("map", "top_k-integers", 1, _ROWS, lambda x: x.map(TopK(1)), Tile(INT8, 1, 3))


@scenario("partition", "top_k")
def _routed(bench: Bench) -> None:
    """Rows go where their scores say."""
    scores = bench.play("s", "1 25 33 46 12 57 D", ["N"], Tile(FP32, 1, 3))
    x = bench.play("x", "1 2 3 4 5 6 D", scores.shape, Tile(BF16, 1, 3))
    for port, stream in enumerate(x.partition(scores.map(TopK(2)), targets=3)):
        stream.sink(f"y{port}")
