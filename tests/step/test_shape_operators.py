"""Reshape, Promote, Zip, Broadcast, Source and Sink: shapes and meaning, empties included."""

from __future__ import annotations

from typing import Any

import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from raising import raised
from running import NUMBER, Bench, here, play, refusal

from step.errors import InputError, StreamFault, TypeMismatch
from step.functions import RetileRow
from step.language.dims import format_shape
from step.language.dtypes import BF16, BOOL, FP32, INT32
from step.language.graph import Graph
from step.language.operator import StreamType
from step.language.tokens import from_nested, to_nested
from step.language.types import Selector, Tile, Tuple
from step.ops import Broadcast
from step.running.interpreter import interpret

# -- reshape --------------------------------------------------------------------------------------------------------


@cases(
    ([7], 4, "[2, 4]"), ([8], 4, "[2, 4]"), ([2, 3], 1, "[2, 3, 1]"), ([0], 4, "[0, 4]"),
    (["N"], 4, "[ceiling(N/4), 4]"), (["N", "R"], 2, "[N, reshape_0_chunks, 2]"),
)  # fmt: skip
def test_reshape_shape(dims: list[Any], chunk: int, shape: str, bench: Bench) -> None:
    data, padding = bench.source("x", "D", dims).reshape(chunk)
    assert format_shape(data.shape) == format_shape(padding.shape) == shape
    assert (data.element, padding.element) == (NUMBER, Tile(BOOL))
    assert (str(data), str(padding)) == ("reshape_0", "reshape_0.padding")


PAIR = Tuple((NUMBER, NUMBER))
REFUSED = [
    ("reshape", lambda b: b.source("x", "D", [2]).reshape(0), "chunk must be an integer >= 1, not 0"),
    ("reshape", lambda b: b.source("x", "D", [2]).reshape(-2), "chunk must be an integer >= 1, not -2"),
    ("reshape", lambda b: b.graph.source("x", PAIR, [2]).reshape(2, pad=0),
     "reshape can pad a static tile, or a selector with 0, not (Tile(INT32, 1, 1), Tile(INT32, 1, 1)) with 0"),
    ("reshape", lambda b: b.graph.source("x", Selector(2), [2]).reshape(2, pad=1),
     "reshape can pad a static tile, or a selector with 0, not Selector(2) with 1"),
    ("reshape", lambda b: b.source("x", "D", [5, "M"]).accum(RetileRow()).reshape(2),
     "reshape can pad a static tile, or a selector with 0, not Tile(INT32, M/5, 1) with 0.0"),
    ("reshape", lambda b: b.source("x", "D", [4]).reshape(2, rank=1), "rank must be 0 to 0 here, not 1"),
    ("reshape", lambda b: b.source("x", "D", [4, 4]).reshape(2, rank=-1), "rank must be 0 to 1 here, not -1"),
    ("reshape", lambda b: b.source("x", "D", [5, 4]).reshape(2, rank=1),
     "dimension 1 must have a static extent that chunk 2 divides, not 5"),
    ("reshape", lambda b: b.source("x", "D", ["N", 4]).reshape(2, rank=1),
     "dimension 1 must have a static extent that chunk 2 divides, not N"),
    ("reshape", lambda b: b.source("x", "D", [4, 4]).reshape(2, pad=7, rank=1),
     "only the innermost dimension is padded: pad must be 0 with rank 1"),
    ("zip", lambda b: b.source("x", "D", ["N", 3]).zip(b.source("y", "D", ["N", 4])),
     "inputs must have the same shape, but input 0 is [N, 3] and input 1 is [N, 4]"),
    ("zip", lambda b: b.source("x", "D", [3]).zip(), "zip needs at least two streams, not 1"),
    ("broadcast", lambda b: b.graph.add(Broadcast(1), [b.source("x", "D", [1])]), "copies must be at least 2, not 1"),
]  # fmt: skip


@pytest.mark.parametrize(("operator", "build", "message"), REFUSED)
def test_what_is_refused(operator: str, build: Any, message: str) -> None:
    assert refusal(operator, build) == message


def test_chunks_of_one_need_no_padding(bench: Bench) -> None:
    bench.graph.source("x", Tuple((NUMBER, NUMBER)), [2]).reshape(1)


T, F = "[[1]]", "[[0]]"


@cases(
    (0, 2, "1 2 3 4 D", "1 2 S1 3 4 S1 D", f"{F} {F} S1 {F} {F} S1 D"),
    (0, 2, "1 2 3 D", "1 2 S1 3 9 S1 D", f"{F} {F} S1 {F} {T} S1 D"),
    (0, 1, "1 2 D", "1 S1 2 S1 D", f"{F} S1 {F} S1 D"),
    (1, 2, "1 2 3 S1 4 S1 D", "1 2 S1 3 9 S2 4 9 S2 D", f"{F} {F} S1 {F} {T} S2 {F} {T} S2 D"),
    (1, 2, "E1 1 S1 E1 D", "E2 1 9 S2 E2 D", f"E2 {F} {T} S2 E2 D"),
    (2, 3, "1 S1 E1 S2 E2 2 S2 D", "1 9 9 S2 E2 S3 E3 2 9 9 S3 D", f"{F} {T} {T} S2 E2 S3 E3 {F} {T} {T} S3 D"),
)
def test_reshape_meaning(rank: int, chunk: int, text: str, data: str, flags: str, bench: Bench) -> None:
    streams = bench.source("x", text, ["N", "M", "L"][: rank + 1]).reshape(chunk, pad=9)
    assert bench.texts(*streams) == [data, flags]


@cases(
    ([6, "M"], 1, 2, "[3, 2, M]"),
    (["N", 4, "M"], 1, 4, "[N, 1, 4, M]"),
    ([3, "N", "M"], 2, 1, "[3, 1, N, M]"),
    (["N", 0, 2], 1, 5, "[N, 0, 5, 2]"),
)
def test_reshape_of_outer_dimensions_shape(dims: list[Any], rank: int, chunk: int, shape: str) -> None:
    data, padding = Bench().source("x", "D", dims).reshape(chunk, rank=rank)
    assert format_shape(data.shape) == format_shape(padding.shape) == shape


@cases(
    ([4, "M"], 1, 2, "1 S1 2 3 S1 E1 4 S1 D", "1 S1 2 3 S2 E1 4 S2 D", f"{F} S1 {F} {F} S2 E1 {F} S2 D"),
    (["N", 2, "M"], 1, 2, "1 S1 2 S2 E1 E1 S2 D", "1 S1 2 S3 E1 E1 S3 D", f"{F} S1 {F} S3 E1 E1 S3 D"),
    (["N", 0, "M"], 1, 2, "E2 E2 D", "E3 E3 D", "E3 E3 D"),
    ([2, "N", "M"], 2, 2, "E2 1 S2 D", "E2 1 S3 D", f"E2 {F} S3 D"),
)
def test_reshape_of_outer_dimensions_meaning(
    dims: list[Any], rank: int, chunk: int, text: str, data: str, flags: str, bench: Bench
) -> None:
    assert bench.texts(*bench.source("x", text, dims).reshape(chunk, rank=rank)) == [data, flags]


def test_selectors_are_padded_with_no_target(bench: Bench) -> None:
    assert bench.text(bench.choose("x", "3 1 2 D", 2, ["N"]).reshape(2)[0]) == "3 1 S1 2 0 S1 D"


@given(st.lists(st.lists(st.integers(0, 9), max_size=7), max_size=4), st.integers(1, 4))
def test_reshape_then_flatten_is_padding_to_whole_chunks(rows: list[list[int]], chunk: int) -> None:
    bench = Bench()
    x = bench.graph.source("x", Selector(4), bench.dims(["N", "R"]))
    flat = x.reshape(chunk)[0].flatten(0, 1)
    run = interpret(bench.graph, {"x": from_nested(rows, 1)}, record=True)
    padded = [row + [0] * (-len(row) % chunk) for row in rows]
    assert to_nested(run.streams[str(flat)], 1) == padded


# -- promote --------------------------------------------------------------------------------------------------------


@cases(
    ([3], "[1, 3]"), ([0], "[0, 0]"), ([1, 2], "[1, 1, 2]"), (["N", 4], "[Min(1, N), N, 4]"),
    (["N", "R"], "[Min(1, N), N, R]"),
)  # fmt: skip
def test_promote_shape(dims: list[Any], shape: str, bench: Bench) -> None:
    assert format_shape(bench.source("x", "D", dims).promote().shape) == shape


@cases(
    (0, "1 2 3 D", "1 2 3 S1 D"),
    (1, "1 S1 2 S1 D", "1 S1 2 S2 D"),
    (1, "E1 D", "E1 S2 D"),
    (2, "1 S1 2 S2 3 S1 E1 S2 D", "1 S1 2 S2 3 S1 E1 S3 D"),
)
def test_promote_meaning(rank: int, text: str, promoted: str, bench: Bench) -> None:
    assert bench.text(bench.source("x", text, ["N", "M", "L"][: rank + 1]).promote()) == promoted


def test_promote_then_flatten_is_nothing(bench: Bench) -> None:
    x = bench.source("x", "E1 1 2 S1 E1 3 S1 D", ["N", "R"])
    assert bench.text(x.promote().flatten(1, 2)) == "E1 1 2 S1 E1 3 S1 D"


# -- zip ------------------------------------------------------------------------------------------------------------


def test_zip(bench: Bench) -> None:
    x = bench.source("x", "1 S1 E1 2 3 S1 D", ["N", "R"])
    y = bench.choose("y", "4 S1 E1 5 6 S1 D", 3, ["N", "R"])
    both = x.zip(y)
    assert str(both.type) == "[N, R] of (Tile(INT32, 1, 1), Selector(3))"
    assert bench.text(both) == "(1,4) S1 E1 (2,5) (3,6) S1 D"


def test_a_type_error_names_the_lines_of_operator_and_inputs(graph: Graph) -> None:
    x = graph.source("x", NUMBER, [2, 3])
    y = graph.source("y", NUMBER, [2, 4])
    with pytest.raises(TypeMismatch) as error:
        x.zip(y, name="both")
    assert str(error.value) == (
        f"zip 'both' ({here(2)}): inputs must have the same shape, but input 0 is [2, 3] and input 1 is [2, 4]\n"
        f"  input 0: x: [2, 3] of Tile(INT32, 1, 1), from {here(6)}\n"
        f"  input 1: y: [2, 4] of Tile(INT32, 1, 1), from {here(6)}"
    )


def test_stops_that_disagree_are_found_when_it_runs(bench: Bench) -> None:
    x = bench.source("x", "1 2 S1 3 S1 D", ["N", "R"])
    both = x.zip(bench.source("y", "1 S1 2 3 S1 D", ["N", "R"]), name="both")
    assert str(both) == "both"
    error = raised(StreamFault, lambda: bench.text(both))
    lines = error.split("\n")
    assert lines[0].startswith("zip 'both' (") and lines[0].endswith("): its inputs do not have the same shape")
    assert lines[1:] == ["  token 0 of x is a value", "  token 0 of y is a value with S1"]


@cases(
    ("1 D", "1 2 D", "token 1 of x is Done", "token 1 of y is a value"),
    ("E1 D", "1 S1 D", "token 0 of x is an empty of rank 1", "token 0 of y is a value with S1"),
)
def test_a_value_against_nothing(x: str, y: str, first: str, second: str, bench: Bench) -> None:
    dims = ["N", "R"][: 1 + ("E" in x)]
    both = bench.source("x", x, dims).zip(bench.source("y", y, dims))
    error = raised(StreamFault, lambda: bench.text(both))
    assert error.split("\n")[1:] == [f"  {first}", f"  {second}"]


# -- broadcast ------------------------------------------------------------------------------------------------------


def test_broadcast_copies_every_token(bench: Bench) -> None:
    x = bench.source("x", "E1 1 2 S1 E1 D", ["N", "R"])
    copies = bench.graph.add(Broadcast(3), [x], name="copy")
    assert [str(each) for each in copies] == ["copy.0", "copy.1", "copy.2"]
    assert {each.type for each in copies} == {x.type}
    assert bench.texts(*copies) == ["E1 1 2 S1 E1 D"] * 3


# -- source and sink ------------------------------------------------------------------------------------------------


def test_a_source_has_the_declared_type(bench: Bench) -> None:
    x = bench.graph.source("x", Tile(BF16, 2, 3), [2, bench.graph.symbol("N")])
    assert x.type == StreamType(Tile(BF16, 2, 3), x.shape) and str(x.type) == "[2, N] of Tile(BF16, 2, 3)"


@pytest.mark.parametrize("text", ["D", "1 2 S1 E1 3 S1 D", "E1 D"])
def test_a_sink_collects_all_tokens_but_done(text: str, bench: Bench) -> None:
    x = bench.source("x", text, ["N", "R"])
    x.sink("y")
    run = interpret(bench.graph, bench.inputs)
    assert run.outputs == {"y": bench.inputs["x"][:-1]}


def test_a_sink_has_no_stream_and_takes_one(bench: Bench) -> None:
    assert bench.source("x", "D", ["N"]).sink("y") is None
    assert bench.graph.nodes["y"].output_types == ()


@cases(
    ([2], "1 D", "token 1 ends a dimension of extent 2 after 1"),
    ([2], "1 2 3 D", "token 3 ends a dimension of extent 2 after 3"),
    (["N", 2], "1 2 S1 3 S1 D", "token 2 ends a dimension of extent 2 after 1"),
    (["N", "M"], "1 2 D", "token 2 is Done inside an open tensor of rank 1"),
    (["N", "M"], "1 S2 D", "token 0 has a stop of level 2, but the stream's rank is 1"),
    (["N"], "1 S1 D", "token 0 has a stop of level 1, but the stream's rank is 0"),
    (["N", 2], "E1 D", "token 0 is an empty tensor of rank 1, but its outermost dimension is 2"),
    (["N", 2, 2], "1 2 S1 E1 S2 D", "token 2 is an empty tensor of rank 1, but its outermost dimension is 2"),
    (["N", "M", "L"], "1 2 E2 D", "token 2 is an empty tensor of rank 2 inside an open one of rank 1"),
    (["N", "M", "L"], "1 S1 E2 D", "token 1 is an empty tensor of rank 2 inside an open one of rank 2"),
    (["N", "M"], "E2 D", "token 0 has a stop of level 2, but the stream's rank is 1"),
)
def test_tokens_that_are_no_stream_of_the_declared_shape(
    dims: list[Any], text: str, message: str, bench: Bench
) -> None:
    x = bench.source("x", text, dims)
    error = raised(InputError, lambda: bench.text(x))
    assert error == f"input 'x': stream x of shape {format_shape(x.shape)}: {message}"


def test_elements_of_another_type(bench: Bench) -> None:
    bench.graph.source("x", Tile(FP32), [1])
    bench.inputs["x"] = play("1 D", Tile(INT32))
    error = raised(InputError, lambda: interpret(bench.graph, bench.inputs))
    assert error == "input 'x': stream x of shape [1]: token 0 is no Tile(FP32, 1, 1)"


def test_selectors_are_named_by_their_own_method() -> None:
    graph = Graph("which")
    assert graph.selectors("which", 3, [4]).element == Selector(3)
