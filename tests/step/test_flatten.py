"""Flatten: the stop rule, empties at every level, and an oracle on nested lists."""

from __future__ import annotations

from contextlib import suppress
from itertools import chain
from typing import Any

from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from running import Bench, nested_lists, refusal

from step.language.dims import format_shape
from step.language.graph import Graph
from step.language.tokens import Token, from_nested, show
from step.language.types import Selector
from step.running.interpreter import interpret


@cases(
    ([2, 3, 4], 0, 1, "[2, 12]"), ([2, 3, 4], 1, 2, "[6, 4]"), ([2, 3, 4], 0, 2, "[24]"),
    (["N", 3, 4], 0, 1, "[N, 12]"), (["N", 3, 4], 1, 2, "[3*N, 4]"), ([2, 2, "R"], 0, 1, "[2, flatten_0_flat]"),
    ([2, "R", 4], 0, 1, "[2, flatten_0_flat]"), ([2, "R", 4], 1, 2, "[flatten_0_flat, 4]"),
    (["N", "R"], 0, 1, "[flatten_0_flat]"),
)  # fmt: skip
def test_shape(dims: list[Any], low: int, high: int, shape: str, bench: Bench) -> None:
    assert format_shape(bench.source("x", "D", dims).flatten(low, high).shape) == shape


def test_an_inner_ragged_dimension_becomes_a_new_ragged_one(bench: Bench) -> None:
    """[2, 2, R0] -> [2, R1], where R1 is not 2 * R0."""
    flat = bench.source("x", "D", [2, 2, "R"]).flatten(0, 1)
    info = bench.graph.symbols["flatten_0_flat"]
    assert flat.shape[1] == info.dim and info.dim.is_ragged and info.of == "flatten_0"


def test_a_flat_outermost_dimension_is_not_ragged(bench: Bench) -> None:
    """There is only one tensor along it."""
    assert not bench.source("x", "D", ["N", "R"]).flatten(0, 1).shape[0].is_ragged


@cases(
    (0, 0, "high must be 1 to 2 here, not 0"),
    (0, 3, "high must be 1 to 2 here, not 3"),
    (1, 1, "low must be 0 to 0 here, not 1"),
    (-1, 1, "low must be 0 to 0 here, not -1"),
    (2, 2, "low must be 0 to 1 here, not 2"),
)
def test_bad_dimensions(low: int, high: int, message: str) -> None:
    assert refusal("flatten", lambda b: b.source("x", "D", [2, 2, 2]).flatten(low, high)) == message


def test_a_stream_without_dimensions_to_merge() -> None:
    text = refusal("flatten", lambda b: b.source("x", "D", [2]).flatten(0, 1))
    assert text == "high must be at least 1, but this stream allows at most 0"


@cases(
    # s <= low stays, low < s <= high becomes low, s > high becomes s - (high - low)
    (2, 0, 1, "1 2 S1 3 S2 4 S1 5 6 7 S2 D", "1 2 3 S1 4 5 6 7 S1 D"),
    (2, 1, 2, "1 2 S1 3 S2 4 S1 5 6 7 S2 D", "1 2 S1 3 S1 4 S1 5 6 7 S1 D"),
    # nothing at all
    (1, 0, 1, "E1 E1 D", "D"),
    # empty rows vanish: in front, between, at the end
    (2, 0, 1, "E1 1 S1 E1 2 S1 E1 S2 D", "1 2 S1 D"),
    (2, 0, 1, "E2 1 S2 E2 E2 D", "E1 1 S1 E1 E1 D"),
    # an empty row stays an empty row where the rows themselves are not merged
    (2, 1, 2, "E1 1 S1 E1 S2 E1 E1 S2 2 S2 D", "E1 1 S1 E1 E1 E1 2 S1 D"),
    # an empty matrix has no rows
    (2, 1, 2, "E2 1 S2 E2 2 S2 E2 D", "1 S1 2 S1 D"),
    # a closing empty matrix hands its stop to the row before it
    (3, 1, 2, "1 S1 E1 S2 E2 S3 D", "1 S1 E1 S2 D"),
    (3, 0, 1, "E3 E2 E2 S3 E1 E1 S3 1 S1 E1 S2 E2 S3 D", "E2 E1 E1 S2 E1 S2 1 S1 E1 S2 D"),
)
def test_meaning(rank: int, low: int, high: int, text: str, flat: str, bench: Bench) -> None:
    x = bench.source("x", text, ["N", "M", "L", "K"][: rank + 1])
    assert bench.text(x.flatten(low, high)) == flat


@cases(
    ([2, 3, 4], 0, 2, False), (["N", 3, 4], 0, 2, False), ([2, "R", 4], 0, 1, False), ([2, 2, "R"], 0, 1, True),
    ([2, "R", 4], 1, 2, False), ([2, "R", 4], 0, 2, False), ([2, 3, "R", 4], 1, 2, True),
    ([2, 3, 4, "R"], 1, 2, False),
)  # fmt: skip
def test_tokens_wait_only_where_an_empty_may_end_a_row(
    dims: list[Any], low: int, high: int, holds: bool, bench: Bench
) -> None:
    x = bench.source("x", "D", dims)
    stream = x.flatten(low, high)
    operator = bench.graph.nodes[stream.producer].operator
    assert operator.holds(x.type) is holds  # type: ignore[attr-defined]


def merged(nested: list[Any], rank: int, low: int, high: int) -> list[Any]:
    """Flatten on nested lists; the outermost level of ``nested`` is dimension ``rank``."""
    if rank > high:
        return [merged(each, rank - 1, low, high) for each in nested]
    for _ in range(high - low):
        nested = list(chain.from_iterable(nested))
    return nested


@st.composite
def merges(draw: st.DrawFn) -> tuple[int, int, int, list[Any]]:
    rank = draw(st.integers(1, 4))
    high = draw(st.integers(1, rank))
    low = draw(st.integers(0, high - 1))
    return rank, low, high, draw(nested_lists(rank))


@given(merges())
def test_flatten_is_what_it_is_on_nested_lists(case: tuple[int, int, int, list[Any]]) -> None:
    rank, low, high, nested = case
    graph = Graph("oracle")
    x = graph.source("x", Selector(2), [graph.symbol(f"D{each}", ragged=each > 0) for each in range(rank + 1)])
    flat = x.flatten(low, high)
    run = interpret(graph, {"x": from_nested(nested, rank)}, record=True)
    expected = from_nested(merged(nested, rank, low, high), rank - (high - low))
    assert show(run.streams[str(flat)]) == show(expected)


@cases(
    # nothing waits where no empty may end a merged row
    ([2, "R", 2], 1, 2, "1 2 S1 E2 3 4 S2 D", [1, 2, 2, 3, 4, 5]),
    # else what does not end it does, for one token
    ([2, 2, "R"], 0, 1, "1 2 S1 E1 S2 3 S1 4 S2 D", [1, 1, 2, 2, 4, 5]),
)
def test_the_meaning_sends_a_token_when_the_hardware_does(
    dims: list[Any], low: int, high: int, text: str, sent: list[int], bench: Bench
) -> None:
    """So that a loop which lives on that token goes round in the interpreter just where it does in the fabric."""
    x = bench.source("x", text, dims)
    node = bench.graph.nodes[x.flatten(low, high).producer]
    emitted: list[Token] = []

    class Around:
        def emit(self, port: int, token: Token) -> None:
            emitted.append(token)

    process = node.operator.process(node, Around())  # type: ignore[arg-type]
    next(process)
    counts = []
    for token in bench.inputs["x"]:
        with suppress(StopIteration):
            process.send(token)
        counts.append(len(emitted))
    assert counts == sent
