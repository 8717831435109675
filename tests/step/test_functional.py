"""Map, Accum and FlatMap: shapes, meaning with empties everywhere, refusals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pytest
import sympy
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from running import Bench, nested_lists, refusal, text_of

from step.errors import StreamFault
from step.functions import Add, Matmul, Mul, RetileCol, RetileRow, RetileStreamify, SelectAll
from step.language.dims import Shape, dim, format_shape
from step.language.dtypes import BF16, FP32, INT32
from step.language.function import FUNCTIONS, FlatMapFunction
from step.language.tokens import Token, from_nested, show
from step.language.types import ElementType, Selector, Tile
from step.running.interpreter import interpret

SCALAR = Tile(FP32)
DIMS = ["N", "M", "L", "K"]


# -- map ------------------------------------------------------------------------------------------------------------


@cases(
    (0, "D", "D", "D"),
    (0, "1 2 D", "3 4 D", "3 8 D"),
    (1, "E1 1 2 S1 E1 D", "E1 5 6 S1 E1 D", "E1 5 12 S1 E1 D"),
    (2, "E2 E1 3 S2 D", "E2 E1 4 S2 D", "E2 E1 12 S2 D"),
)
def test_map(rank: int, x: str, w: str, result: str, bench: Bench) -> None:
    first = bench.source("x", x, DIMS[: rank + 1], SCALAR)
    y = first.map(Mul(), bench.source("w", w, DIMS[: rank + 1], SCALAR))
    assert y.type == first.type
    assert bench.text(y) == result


def test_map_changes_the_element_and_no_dimension(bench: Bench) -> None:
    y = bench.source("x", "E1 1 2 S1 D", ["N", "R"]).map(SelectAll(3))
    assert str(y.type) == "[N, R] of Selector(3)"
    assert bench.text(y) == "E1 7 7 S1 D"


@cases(
    ("accum", lambda b: b.source("x", "D", [2, 3], SCALAR).accum(Add(), rank=0), "rank must be 1 to 1 here, not 0"),
    ("accum", lambda b: b.source("x", "D", [2, 3], SCALAR).accum(Add(), rank=2), "rank must be 1 to 1 here, not 2"),
    ("accum", lambda b: b.source("x", "D", [2], SCALAR).accum(Add()),
     "rank must be at least 1, but this stream allows at most 0"),
    ("map", lambda b: b.source("x", "D", [2], SCALAR).map(Mul(), b.source("w", "D", [3], SCALAR)),
     "inputs must have the same shape, but input 0 is [2] and input 1 is [3]"),
    ("map", lambda b: b.source("x", "D", [2, 1], SCALAR).map(Mul(), b.source("w", "D", [2], SCALAR)),
     "inputs must have the same shape, but input 0 is [2, 1] and input 1 is [2]"),
    ("map",
     lambda b: b.source("x", "D", [2], Tile(BF16, 2, 3)).map(Matmul(), b.source("w", "D", [2], Tile(BF16, 2, 3))),
     "matmul needs [M,K] and [K,N] tiles, both of BF16 or both of INT8, not Tile(BF16, 2, 3), Tile(BF16, 2, 3)"),
)  # fmt: skip
def test_what_is_refused(operator: str, build: Any, message: str) -> None:
    assert refusal(operator, build) == message


# -- accum ----------------------------------------------------------------------------------------------------------


@cases(([2, 3, 4], 1, "[2, 3]"), ([2, 3, 4], 2, "[2]"), (["N", "R"], 1, "[N]"), (["N", "R", 4], 1, "[N, R]"))
def test_accum_shape(dims: list[Any], rank: int, shape: str, bench: Bench) -> None:
    assert format_shape(bench.source("x", "D", dims, SCALAR).accum(Add(), rank=rank).shape) == shape


@cases(
    (1, 1, "E1 1 2 S1 E1 E1 3 S1 E1 D", "0 3 0 0 3 0 D"),
    (2, 1, "1 2 S1 3 S2 4 S1 5 6 7 S2 D", "3 3 S1 4 18 S1 D"),
    # empty rows are sums of nothing, empty matrices have no rows to sum
    (2, 1, "E1 1 S2 E2 2 S1 E1 S2 D", "0 1 S1 E1 2 0 S1 D"),
    (2, 2, "E1 1 S2 E2 2 S1 E1 S2 E1 E1 S2 D", "1 0 2 0 D"),
    (3, 2, "1 S1 2 S2 3 S3 E3 E2 E1 4 S3 D", "3 3 S1 E1 0 4 S1 D"),
)
def test_accum_meaning(rank: int, reduced: int, text: str, sums: str, bench: Bench) -> None:
    assert bench.text(bench.source("x", text, DIMS[: rank + 1], SCALAR).accum(Add(), rank=reduced)) == sums


def test_an_empty_product_is_one(bench: Bench) -> None:
    assert bench.text(bench.source("x", "2 3 S1 E1 D", ["N", "R"], SCALAR).accum(Mul())) == "6 1 D"


def test_accum_of_two_streams(bench: Bench) -> None:
    """[1,2] x [2,1] of ones times twos, two and no products."""
    x = bench.source("x", "1 1 S1 E1 D", ["N", "R"], Tile(BF16, 1, 2))
    w = bench.source("w", "2 2 S1 E1 D", ["N", "R"], Tile(BF16, 2, 1))
    y = x.accum(Matmul(), w)
    assert str(y.type) == "[N] of Tile(FP32, 1, 1)" and bench.text(y) == "8 0 D"


def total(nested: Any) -> int:
    return sum(total(each) for each in nested) if isinstance(nested, list) else nested


def reduced(nested: list[Any], rank: int, by: int) -> list[Any]:
    """Sums of the tensors of rank ``by`` on nested lists of rank ``rank``."""
    return [total(each) if rank == by else reduced(each, rank - 1, by) for each in nested]


@st.composite
def reductions(draw: st.DrawFn) -> tuple[int, int, list[Any]]:
    rank = draw(st.integers(1, 3))
    return rank, draw(st.integers(1, rank)), draw(nested_lists(rank))


@given(reductions())
def test_accum_is_what_it_is_on_nested_lists(case: tuple[int, int, list[Any]]) -> None:
    rank, by, nested = case
    bench = Bench()
    y = bench.source("x", show(from_nested(nested, rank)), DIMS[: rank + 1], SCALAR).accum(Add(), rank=by)
    assert bench.text(y) == show(from_nested(reduced(nested, rank, by), rank - by))


@cases(([2, 3], "Tile(INT32, 3, 1)"), (["N", "R"], "Tile(INT32, R/Max(1, N), 1)"), ([2, "N"], "Tile(INT32, N, 1)"))
def test_an_accumulator_may_grow(dims: list[Any], element: str) -> None:
    bench = Bench(N=False)
    assert str(bench.source("x", "D", dims).accum(RetileRow()).element) == element


def test_growing_tiles(bench: Bench) -> None:
    tall = bench.source("x", "1 2 S1 E1 3 S1 D", ["N", "R"]).accum(RetileRow())
    (tokens,) = bench.tokens(tall)
    assert [token.value.tolist() for token in tokens[:-1]] == [[[1], [2]], [], [[3]]]
    assert tokens[1].value.shape == (0, 1)


def test_columns_side_by_side(bench: Bench) -> None:
    (tokens,) = bench.tokens(bench.source("x", "1 2 S1 3 4 S1 D", ["N", 2], Tile(INT32, 2, 1)).accum(RetileCol()))
    assert [token.value.tolist() for token in tokens[:-1]] == [[[1, 2], [1, 2]], [[3, 4], [3, 4]]]


# -- flat map -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Listed(FlatMapFunction):
    """Element n becomes the n-th of some streams, given as nested lists."""

    streams: tuple[Any, ...]
    rank: int

    def result_type(self, element: ElementType) -> ElementType:
        return element

    def result_shape(self, element: ElementType) -> Shape:
        return (dim(9),) * (self.rank + 1)

    def expand(self, value: Any) -> Iterator[Token]:
        yield from from_nested(self.streams[value], self.rank)[:-1]

    def flops(self, *inputs: ElementType) -> sympy.Expr:
        return sympy.Integer(5)


del FUNCTIONS["listed"]  # it is no function of the language


def flat_mapped(nested: list[Any], rank: int, streams: tuple[Any, ...], by: int) -> str:
    """What FlatMap makes of ``nested``, as text; types are not looked at."""
    bench = Bench()
    names = ["N", "M", "L", "K"][: rank + 1]
    x = bench.graph.source("x", Selector(4), bench.dims(names))
    open_ended = tuple(bench.graph.symbol(f"open{level}", ragged=True) for level in range(by + 1))

    @dataclass(frozen=True)
    class Open(Listed):
        def result_shape(self, element: ElementType) -> Shape:
            return open_ended

    del FUNCTIONS["open"]
    y = x.flat_map(Open(streams, by))
    return show(interpret(bench.graph, {"x": from_nested(nested, rank)}, record=True).streams[str(y)])


NOTHING_ONE_TWO = ([], [7], [8, 9])


@cases(
    (0, [1, 2], 0, NOTHING_ONE_TWO, "7 8 9 D"),
    (0, [0, 0], 0, NOTHING_ONE_TWO, "D"),
    (0, [0, 1, 0, 2, 0], 0, NOTHING_ONE_TWO, "7 8 9 D"),
    (1, [[1, 2], [1]], 0, NOTHING_ONE_TWO, "7 8 9 S1 7 S1 D"),
    # the last element of a row becomes nothing: the row ends where the one before it did
    (1, [[2, 0]], 0, NOTHING_ONE_TWO, "8 9 S1 D"),
    (1, [[2, 0, 0], [1]], 0, NOTHING_ONE_TWO, "8 9 S1 7 S1 D"),
    # all elements of a row become nothing: an empty row
    (1, [[0], [0, 0], [1], [0]], 0, NOTHING_ONE_TWO, "E1 E1 7 S1 E1 D"),
    (1, [[], [1], []], 0, NOTHING_ONE_TWO, "E1 7 S1 E1 D"),
    (2, [[[1], [0]], [[0], [1]], []], 0, NOTHING_ONE_TWO, "7 S1 E1 S2 E1 7 S2 E2 D"),
    (0, [1, 1], 1, ([], [[7, 8], [9]]), "7 8 S1 9 S1 7 8 S1 9 S1 D"),
    (0, [0, 1, 0], 1, ([], [[7, 8], [9]]), "7 8 S1 9 S1 D"),
    (1, [[1, 0], [0], [0, 1]], 1, ([], [[7], [9]]), "7 S1 9 S2 E2 7 S1 9 S2 D"),
    (1, [[1, 0], [1]], 1, ([], [[7], []]), "7 S1 E1 S2 7 S1 E1 S2 D"),
    (1, [[1, 1]], 1, ([], [[]]), "E1 E1 S2 D"),
    (1, [[0, 1, 0]], 2, ([], [[[7]], [[]]]), "7 S2 E1 S3 D"),
    (2, [[[1], [0, 0]], [[0, 1]]], 1, ([], [[7], [9]]), "7 S1 9 S2 E2 S3 7 S1 9 S3 D"),
)
def test_flat_map_meaning(rank: int, nested: list[Any], by: int, streams: tuple[Any, ...], text: str) -> None:
    assert flat_mapped(nested, rank, streams, by) == text


def joined(nested: list[Any], rank: int, streams: tuple[Any, ...]) -> list[Any]:
    """FlatMap on nested lists."""
    if rank:
        return [joined(each, rank - 1, streams) for each in nested]
    return list(chain.from_iterable(streams[each] for each in nested))


@st.composite
def flat_maps(draw: st.DrawFn) -> tuple[int, list[Any], int, tuple[Any, ...]]:
    rank, by = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    streams = tuple(draw(nested_lists(by)) for _ in range(4))
    return rank, draw(nested_lists(rank)), by, streams


@given(flat_maps())
def test_flat_map_is_what_it_is_on_nested_lists(case: tuple[int, list[Any], int, tuple[Any, ...]]) -> None:
    rank, nested, by, streams = case
    assert flat_mapped(nested, rank, streams, by) == show(from_nested(joined(nested, rank, streams), rank + by))


@cases(
    ([3], (4, 2), RetileStreamify(2, "row"), "[6] of Tile(INT32, 2, 2)"),
    ([3], (4, 6), RetileStreamify(2, "col"), "[9] of Tile(INT32, 4, 2)"),
    ([3], (4, 2), RetileStreamify(2, "row", 1), "[3, 2] of Tile(INT32, 2, 2)"),
    (["N"], (4, 2), RetileStreamify(1, "row"), "[4*N] of Tile(INT32, 1, 2)"),
    (["N", "R"], (4, 2), RetileStreamify(1, "row"), "[N, flat_map_0_joined] of Tile(INT32, 1, 2)"),
    (["N", "R"], (4, 2), RetileStreamify(1, "row", 1), "[N, R, 4] of Tile(INT32, 1, 2)"),
)
def test_flat_map_shape(dims: list[Any], tile: tuple[int, int], function: Any, result: str, bench: Bench) -> None:
    assert str(bench.source("x", "D", dims, Tile(INT32, *tile)).flat_map(function).type) == result


def tall_tiles(bench: Bench, *heights: int, stops: str) -> Any:
    """A source [N, R] of tiles with as many rows as said; a text has one word per token, ``v`` for a tile."""
    rows = bench.graph.symbol("rows", ragged=True)
    parts = iter(np.arange(height, dtype=np.int32).reshape(-1, 1) for height in heights)
    bench.source("shape", stops, ["N", "R"])
    tokens = bench.inputs.pop("shape")
    del bench.graph.nodes["shape"]
    bench.inputs["x"] = [t._replace(value=next(parts)) if t.has_value else t for t in tokens]
    return bench.graph.source("x", Tile(INT32, rows, 1), bench.dims(["N", "R"]))


@cases(
    ((2, 0, 1), "1 1 1 S1 D", 0, "0 1 0 S1 D"),
    ((2, 0), "1 1 S1 E1 D", 0, "0 1 S1 E1 D"),
    ((0,), "1 S1 D", 0, "E1 D"),
    # with rank 1 every tile is one row [n], an empty one too
    ((2, 0, 1), "1 1 1 S1 D", 1, "0 1 S1 E1 0 S2 D"),
    ((2, 0), "1 1 S1 E1 D", 1, "0 1 S1 E1 S2 E2 D"),
)
def test_rows_of_tiles_of_any_height(heights: tuple[int, ...], stops: str, by: int, text: str, bench: Bench) -> None:
    y = tall_tiles(bench, *heights, stops=stops).flat_map(RetileStreamify(1, "row", by))
    assert text_of(bench.tokens(y)[0]) == text


def test_a_retiled_row_comes_apart_again(bench: Bench) -> None:
    x = bench.source("x", "1 2 S1 E1 3 S1 D", ["N", "R"])
    back = x.accum(RetileRow()).flat_map(RetileStreamify(1, "row", 1))
    assert bench.text(back) == "1 2 S1 E1 3 S1 D"


def test_pieces_of_joined_rows_have_a_ragged_extent_of_their_own(bench: Bench) -> None:
    """An expression with a ragged symbol is a new one, here that of 4 * R rows; routing goes on from there."""
    x = bench.source("x", "1 2 S1 E1 3 S1 D", ["N", "R"], Tile(INT32, 4, 1))
    rows = x.accum(RetileRow()).flat_map(RetileStreamify(1, "row", 1))
    assert str(rows.type) == "[N, flat_map_0_D0] of Tile(INT32, 1, 1)"
    (kept,) = rows.partition(bench.choose("which", "1 1 0 D", 1, ["N"]), targets=1, rank=1)
    assert bench.text(kept) == "1 1 1 1 2 2 2 2 S1 E1 D"


def test_streams_of_other_lengths_are_found_when_it_runs(bench: Bench) -> None:
    x = bench.source("x", "1 D", ["N"], SCALAR)
    y = x.map(Mul(), bench.source("w", "1 2 D", ["N"], SCALAR), name="product")
    with pytest.raises(StreamFault, match=r"^map 'product' \(\S+:\d+\): its inputs do not have the same shape"):
        bench.text(y)
