"""Expand and Repeat: shapes, meaning with empty references, faults."""

from __future__ import annotations

from typing import Any

import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from raising import raised
from running import Bench, refusal

from step.errors import StreamFault
from step.language.dims import format_shape
from step.language.tokens import from_nested, show
from step.language.types import Selector
from step.running.interpreter import interpret


@cases(
    (1, 1, "1 S1 2 S1 D", "9 9 S1 9 S1 D", "1 1 S1 2 S1 D"),
    # references without elements
    (1, 1, "1 S1 2 S1 3 S1 D", "E1 9 S1 E1 D", "E1 2 S1 E1 D"),
    # rows that hold nothing on either side
    (1, 2, "E2 1 S2 E2 D", "E2 9 9 S2 E2 D", "E2 1 1 S2 E2 D"),
    # two dimensions at once
    (2, 1, "1 S2 2 S2 3 S2 D", "E1 9 S1 E1 S2 E2 9 S1 E1 S2 D", "E1 1 S1 E1 S2 E2 3 S1 E1 S2 D"),
)
def test_expand_meaning(rank: int, outer: int, data: str, reference: str, result: str, bench: Bench) -> None:
    dims = bench.dims(["N", "M", "L", "K"][: outer + rank])
    x = bench.source("x", data, [*dims[:outer], *[1] * rank])
    ref = bench.choose("ref", reference, 4, dims)
    y = x.expand(ref, rank=rank)
    assert y.shape == ref.shape and y.element == x.element
    assert bench.text(y) == result


@cases(
    (["N", 1], 3, "1 S1 2 S1 D", "1 1 1 S1 2 2 2 S1 D"),
    (["N", "M", 1], 2, "E2 1 S1 2 S2 E2 D", "E2 1 1 S1 2 2 S2 E2 D"),
    ([1], 3, "5 D", "5 5 5 D"),
)
def test_static_expand(dims: list[Any], count: int, data: str, result: str, bench: Bench) -> None:
    y = bench.source("x", data, dims).expand_static(count)
    assert format_shape(y.shape[-1:]) == f"[{count}]"
    assert bench.text(y) == result


@cases(
    (["N"], "1 2 D", "[N, 2]", "1 1 S1 2 2 S1 D"),
    (["N", "R"], "E1 1 2 S1 E1 D", "[N, R, 2]", "E2 1 1 S1 2 2 S2 E2 D"),
    ([2, 2], "1 2 S1 3 4 S1 D", "[2, 2, 2]", "1 1 S1 2 2 S2 3 3 S1 4 4 S2 D"),
)
def test_repeat_is_n_copies_of_which_the_last_has_the_stop_plus_one(
    dims: list[Any], data: str, shape: str, result: str, bench: Bench
) -> None:
    y = bench.source("x", data, dims).repeat(2)
    assert format_shape(y.shape) == shape
    assert bench.text(y) == result


def test_repeat_names_both_of_its_operators(bench: Bench) -> None:
    bench.source("x", "D", [2]).repeat(3, name="again")
    assert list(bench.graph.nodes) == ["x", "again_chunks", "again"]


@cases(
    (lambda b: b.source("x", "D", [2, 3]).expand(b.source("r", "D", [2, 5])),
     "the innermost 1 dimensions of the data must be 1, but its shape is [2, 3]"),
    (lambda b: b.source("x", "D", [2, 1]).expand(b.source("r", "D", [3, 5])),
     "data and reference must agree outside of the innermost 1 dimensions, but they are [2, 1] and [3, 5]"),
    (lambda b: b.source("x", "D", [2, 1]).expand(b.source("r", "D", [2])),
     "data and reference must agree outside of the innermost 1 dimensions, but they are [2, 1] and [2]"),
    (lambda b: b.source("x", "D", [1]).expand(b.source("r", "D", [2])),
     "rank must be at least 1, but this stream allows at most 0"),
    (lambda b: b.source("x", "D", [2, 1]).expand(b.source("r", "D", [2, 5]), rank=2),
     "rank must be 1 to 1 here, not 2"),
    (lambda b: b.source("x", "D", [2, 1]).expand(b.source("r", "D", [2, 5]), rank=0),
     "rank must be 1 to 1 here, not 0"),
    (lambda b: b.source("x", "D", [2, 1]).expand_static(0), "count must be at least 1, not 0"),
    (lambda b: b.source("x", "D", [2, 3]).expand_static(2),
     "the innermost 1 dimensions of the data must be 1, but its shape is [2, 3]"),
)  # fmt: skip
def test_expand_is_refused(build: Any, message: str) -> None:
    assert refusal("expand", build) == message


@cases(
    ("1 S1 D", "9 S1 9 S1 D", ["token 1 of x is Done", "token 1 of ref is a value with S1"]),
    ("1 S1 2 S1 D", "9 S1 D", ["token 1 of x is a value with S1", "token 1 of ref is Done"]),
)
def test_expand_faults(data: str, reference: str, heads: list[str], bench: Bench) -> None:
    dims = bench.dims(["N", "R"])
    x = bench.source("x", data, [dims[0], 1])
    y = x.expand(bench.source("ref", reference, dims), name="repeated")
    error = raised(StreamFault, lambda: bench.text(y))
    first, *rest = error.split("\n")
    assert first.startswith("expand 'repeated' (") and first.endswith("): its inputs do not have the same shape")
    assert [line.strip() for line in rest] == heads


@cases(("1 S1 2 S2 D", "9 S1 9 S1 9 S2 D"), ("1 S1 2 S2 D", "9 S2 9 S2 D"), ("E2 D", "9 S2 D"))
def test_a_reference_of_another_outer_structure(data: str, reference: str, bench: Bench) -> None:
    dims = bench.dims(["N", "M", "R"])
    y = bench.source("x", data, [*dims[:2], 1]).expand(bench.source("ref", reference, dims))
    with pytest.raises(StreamFault, match=r"its inputs do not have the same shape"):
        bench.text(y)


@given(st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=3), max_size=3))
def test_expand_is_what_it_is_on_nested_lists(rows: list[list[tuple[int, int]]]) -> None:
    """Element e with a reference of n elements becomes n copies of e."""
    bench = Bench()
    dims = bench.dims(["N", "M", "R"])
    x, ref = bench.graph.source("x", Selector(4), [*dims[:2], 1]), bench.graph.source("ref", Selector(1), dims)
    y = x.expand(ref)
    inputs = {
        "x": from_nested([[[value] for value, _ in row] for row in rows], 2),
        "ref": from_nested([[[1] * count for _, count in row] for row in rows], 2),
    }
    run = interpret(bench.graph, inputs, record=True)
    expected = from_nested([[[value] * count for value, count in row] for row in rows], 2)
    assert show(run.streams[str(y)]) == show(expected)
