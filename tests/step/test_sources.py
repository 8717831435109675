"""Streams that programs make themselves, and items of tuples: types, meaning in texts, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import cases
from raising import raised
from running import Bench, refusal

from step.errors import TypeMismatch
from step.functions import Add, RetileCol, RetileRow
from step.language.dims import format_shape
from step.language.dtypes import BF16, BOOL, FP32, INT8, INT32, UINT32
from step.language.graph import Graph
from step.language.stream import Stream
from step.language.types import Selector, Tile, Tuple
from step.programs.metrics import metrics
from step.programs.program import Program
from step.running.interpreter import bind, interpret

# -- generate -------------------------------------------------------------------------------------------------------


@cases(
    (lambda g: g.constant(3, [2]), "[2]", Tile(BF16), "3 3 D"),
    (lambda g: g.constant([[1, 2]], [2, 1], dtype=FP32), "[2, 1]", Tile(FP32, 1, 2), "[[1.0,2.0]] S1 [[1.0,2.0]] S1 D"),
    (lambda g: g.constant(1, [0, 2]), "[0, 2]", Tile(BF16), "D"),
    (lambda g: g.count([2, 3]), "[2, 3]", Tile(UINT32), "0 1 2 S1 3 4 5 S1 D"),
    (lambda g: g.count([3], start=5, step=-2, dtype=INT32), "[3]", Tile(INT32), "5 3 1 D"),
    (lambda g: g.turns(3), "[3]", Selector(3), "1 2 4 D"),
    (lambda g: g.turns(2, dims=[2, 2]), "[2, 2]", Selector(2), "1 2 S1 1 2 S1 D"),
    (lambda g: g.turns(3, [2, [0, 1], []]), "[3]", Selector(3), "4 3 0 D"),
    (lambda g: g.generate(Selector(2), [1], [2], before=[3], behind=[0, 0]), "[5]", Selector(2), "3 1 1 0 0 D"),
    (lambda g: g.generate(Selector(2), [1], [0], before=[3]), "[1]", Selector(2), "3 D"),
    (lambda g: g.generate(Tile(INT8), range(126, 128), [4]), "[4]", Tile(INT8), "126 127 126 127 D"),
)  # fmt: skip
def test_by_itself(make: Callable[[Graph], Stream], dims: str, element: Any, text: str, bench: Bench) -> None:
    stream = make(bench.graph)
    assert (format_shape(stream.shape), stream.element, bench.text(stream)) == (dims, element, text)


@cases(
    (lambda x: x.graph.constant(7, reference=x), "[N, M]", "7 7 S1 E1 7 S1 D"),
    (lambda x: x.graph.count(reference=x, start=4), "[N, M]", "4 5 S1 E1 6 S1 D"),
    (lambda x: x.graph.count([2], reference=x), "[N, M, 2]", "0 1 S1 0 1 S2 E2 0 1 S2 D"),
    (lambda x: x.graph.turns(2, reference=x), "[N, M]", "1 2 S1 E1 1 S1 D"),
    (lambda x: x.graph.turns(2, dims=[3], reference=x), "[N, M, 3]", "1 2 1 S1 2 1 2 S2 E2 1 2 1 S2 D"),
    (lambda x: x.graph.generate(Selector(1), [1], behind=[0], reference=x.flatten(0, 1, name="flat")),
     "[flat_flat + 1]", "1 1 1 0 D"),
)  # fmt: skip
def test_for_every_element(make: Callable[[Stream], Stream], dims: str, text: str, bench: Bench) -> None:
    stream = make(bench.source("x", "1 2 S1 E1 3 S1 D", ["N", "M"]))
    assert format_shape(stream.shape) == dims
    assert bench.text(stream) == text


def test_the_sum_of_dimensions(bench: Bench) -> None:
    x = bench.source("x", "1 2 3 D", ["N"])
    stream = bench.graph.generate(Selector(2), [1], before=[2], behind=[2, 2], reference=x)
    assert format_shape(stream.shape) == "[N + 3]"
    assert bench.text(stream) == "2 1 1 1 2 2 D"


def test_numbers_begin_again_behind_the_last_one(bench: Bench) -> None:
    x = bench.source("x", "1 2 3 D", ["N"])
    assert bench.text(bench.graph.count(reference=x, start=126, dtype=INT8)) == "126 127 126 D"


@cases(
    (lambda g: g.generate(Selector(2), [1]), "without a reference there must be at least one dimension"),
    (lambda g: g.generate(Selector(2), [1], [2, 0]), "extents must be at least [0, 1], not [2, 0]"),
    (lambda g: g.generate(Selector(2), [], [2]), "there must be at least one value"),
    (lambda g: g.generate(Tile(BF16), range(3), [2]), "a range is integers, 1x1 tiles, not Tile(BF16, 1, 1)"),
    (lambda g: g.generate(Tile(INT8, 1, 2), range(3), [2]), "a range is integers, 1x1 tiles, not Tile(INT8, 1, 2)"),
    (lambda g: g.generate(Tile(BOOL), range(2), [2]), "a range is integers, 1x1 tiles, not Tile(BOOL, 1, 1)"),
    (lambda g: g.generate(Tile(INT8), range(100, 200), [2]), "199 is no Tile(INT8, 1, 1)"),
    (lambda g: g.generate(Tile(INT8), range(3), [2], behind=[((1,),)]), "a range has nothing before or behind it"),
    (lambda g: g.generate(Selector(2), [1], [2, 2], behind=[1]),
     "only a stream of rank 0 can have more before or behind, not 1"),
)  # fmt: skip
def test_generate_is_refused(build: Any, message: str) -> None:
    assert refusal("generate", lambda bench: build(bench.graph)) == message


@cases(
    (lambda g: g.generate(Selector(2), [4], [2]), "4 is no Selector(2); it would be a mask from 0 to 3"),
    (lambda g: g.generate(Tile(BF16, 1, 2), [((1, 2, 3),)], [2]),
     "((1, 2, 3),) is no Tile(BF16, 1, 2); it would be 1 list of 2 numbers"),
    (lambda g: g.generate(Tile(INT8), [((300,),)], [2]),
     "a constant of INT8 must be integers from -128 to 127, not ((300,),)"),
    (lambda g: g.generate(Tile(BF16, 2, 1), [((1,), (2, 3))], [2]),
     "a constant of BF16 must be numbers that BF16 has, not ((1,), (2, 3))"),
    (lambda g: g.constant(300, [1], dtype=INT8), "a constant of INT8 must be integers from -128 to 127, not 300"),
    (lambda g: g.constant(0.5, [1], dtype=INT32),
     "a constant of INT32 must be integers from -2147483648 to 2147483647, not 0.5"),
    (lambda g: g.constant(2, [1], dtype=BOOL), "a constant of BOOL must be integers from 0 to 1, not 2"),
    (lambda g: g.constant(1e300, [1], dtype=BF16), "a constant of BF16 must be numbers that BF16 has, not 1e+300"),
    (lambda g: g.constant([[[1]]], [1], dtype=BF16), "a constant of BF16 must be numbers that BF16 has, not [[[1]]]"),
)  # fmt: skip
def test_values_that_are_none_of_the_type(build: Any, message: str) -> None:
    error = raised(TypeMismatch, lambda: build(Bench().graph))
    assert re.fullmatch(rf"\S+\.py:\d+: {re.escape(message)}", error)


def test_constants_are_rounded(bench: Bench) -> None:
    (token, _) = bench.tokens(bench.graph.constant([[0.1, np.inf, -0.0]], [1]))[0]
    assert [hex(each) for each in token.value.view(np.uint16).ravel()] == ["0x3dcd", "0x7f80", "0x8000"]


# -- items ----------------------------------------------------------------------------------------------------------


def pairs(bench: Bench) -> Stream:
    x = bench.source("x", "1 2 S1 E1 3 S1 D", ["N", "M"])
    return x.zip(bench.choose("which", "1 0 S1 E1 2 S1 D", 2, x.shape), bench.graph.constant(1.0, reference=x))


def test_items(bench: Bench) -> None:
    first, second, third = pairs(bench)
    assert [each.element for each in (first, second, third)] == [Tile(INT32), Selector(2), Tile(BF16)]
    assert {format_shape(each.shape) for each in (first, second, third)} == {"[N, M]"}
    assert bench.texts(first, second, third) == ["1 2 S1 E1 3 S1 D", "1 0 S1 E1 2 S1 D", "1 1 S1 E1 1 S1 D"]


@pytest.mark.parametrize("index", [-1, 3])
def test_an_item_that_there_is_not(index: int) -> None:
    assert refusal("item_of", lambda bench: pairs(bench)[index]) == f"a tuple of 3 has items 0 to 2, but no {index}"


def test_what_has_no_items() -> None:
    message = "only tuples have items, not Tile(INT32, 1, 1)"
    assert refusal("item_of", lambda bench: bench.source("x", "D", [1])[0]) == message
    bench = Bench()
    with pytest.raises(
        TypeMismatch, match=r"<stream x: \[1\] of Tile\(INT32, 1, 1\)> can not be unpacked: only tuples"
    ):
        list(bench.source("x", "D", [1]))


def test_the_items_of_a_tuple_of_tuples(bench: Bench) -> None:
    stream = pairs(bench)
    both = stream.zip(stream[0])
    assert both[0].element == stream.element and isinstance(both.element, Tuple)
    assert bench.text(both[0][1]) == bench.text(stream[1])


# -- eager merge ----------------------------------------------------------------------------------------------------


def test_merged_streams(bench: Bench) -> None:
    x, y = bench.source("x", "1 2 S1 E1 D", ["N", "A"]), bench.source("y", "3 S1 E1 4 S1 D", [3, "B"])
    merged, which = bench.graph.eager_merge([x, y], rank=1, name="merge")
    assert [format_shape(each.shape) for each in (merged, which)] == ["[N + 3, merge_D0]", "[N + 3]"]
    assert (merged.element, which.element) == (x.element, Selector(2))
    assert [str(each) for each in (merged, which)] == ["merge", "merge.selector"]
    # Without times one input comes after the other.
    assert bench.texts(merged, which) == ["1 2 S1 E1 3 S1 E1 4 S1 D", "1 1 2 2 2 D"]


def of_other_rows(graph: Graph) -> list[Stream]:
    """One tile of all rows of each of two streams."""
    rows = [graph.source(name, Tile(BF16, 1, 2), [graph.symbol(name.upper())]) for name in "xy"]
    return [each.promote().accum(RetileRow()) for each in rows]


def two_rows(graph: Graph) -> Stream:
    return graph.source("z", Tile(BF16, 2, 2), [1])


ROWS = {"x": [[[1, 2]]] * 3, "y": [], "z": [[[3, 4], [5, 6]]]}


def test_merged_tiles_of_other_rows() -> None:
    """Their rows are a symbol, which is the total in metrics."""
    graph = Graph("turns")
    merged, _ = graph.eager_merge([*of_other_rows(graph), two_rows(graph)], name="turns")
    merged.repeat(3).map(Add(), merged.repeat(3)).sink("sums")
    merged.sink("out")
    assert str(merged.element) == "Tile(BF16, turns_rows/(Min(1, X) + Min(1, Y) + 1), 2)"
    program = Program(graph, ROWS)
    assert [len(token.value) for token in interpret(graph, ROWS).outputs["out"]] == [3, 2]
    assert bind(program)["turns_rows"] == 5
    assert metrics(graph).bind(bind(program)).flops == 5 * 3 * 2
    # Without a tile there is no mean, and nothing to count.
    nothing = Graph("nothing")
    merged, _ = nothing.eager_merge(of_other_rows(nothing), name="turns")
    merged.map(Add(), merged).sink("out")
    assert metrics(nothing).bind(bind(nothing, {"x": [], "y": []})).flops == 0


def test_reassembled_tiles_of_other_rows() -> None:
    graph = Graph("back")
    which = graph.selectors("which", 3, [2])
    back = graph.reassemble([*of_other_rows(graph), two_rows(graph)], which, name="back")
    back.map(Add(), back).sink("out")
    program = Program(graph, {**ROWS, "which": [[0], [2]]})
    assert str(back.element) == "Tile(BF16, back_rows/Max(1, back_selected), 2)"
    assert metrics(graph).bind(bind(program)).flops == 5 * 2


def test_merged_tiles_of_other_columns() -> None:
    graph = Graph("turns")
    columns = [graph.source(name, Tile(BF16, 2, 1), [graph.symbol(name.upper())]) for name in "xy"]
    merged, _ = graph.eager_merge([each.promote().accum(RetileCol()) for each in columns], name="turns")
    merged.map(Add(), merged).sink("out")
    program = Program(graph, {"x": [[[1], [2]]] * 3, "y": [[[3], [4]]] * 4})
    assert bind(program)["turns_cols"] == 7
    assert metrics(graph).bind(bind(program)).flops == 7 * 2


@cases(
    (lambda b: b.graph.eager_merge([]), "eager merge takes at least one stream"),
    (lambda b: b.graph.eager_merge([b.tile_source("x", "D", [4], BF16, 2, 3),
                                    b.tile_source("y", "D", [4], BF16, 4, 3)]),
     "data streams must carry equal chunks, but input 0 is [4] of Tile(BF16, 2, 3) "
     "and input 1 is [4] of Tile(BF16, 4, 3)"),
    (lambda b: b.graph.eager_merge([b.source("x", "D", [4, 2])]), "data streams must have rank 0, but input 0 has 1"),
    (lambda b: b.graph.eager_merge([b.source("x", "D", [4]), b.source("y", "D", [4, 2])]),
     "data streams must have rank 0, but input 1 has 1"),
    (lambda b: b.graph.eager_merge([b.source("x", "D", [4, 2]), b.source("y", "D", [4, 3])], rank=1),
     "data streams must carry equal chunks, but input 0 is [4, 2] of Tile(INT32, 1, 1) "
     "and input 1 is [4, 3] of Tile(INT32, 1, 1)"),
    (lambda b: b.graph.eager_merge([b.source("x", "D", [4]), b.tile_source("y", "D", [4], BF16, 1, 1)]),
     "data streams must carry equal chunks, but input 0 is [4] of Tile(INT32, 1, 1) "
     "and input 1 is [4] of Tile(BF16, 1, 1)"),
)  # fmt: skip
def test_eager_merge_is_refused(build: Any, message: str) -> None:
    assert refusal("eager_merge", build) == message
