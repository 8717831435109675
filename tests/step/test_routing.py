"""Partition and Reassemble: shapes, meaning with empty chunks and selectors, faults, and that they are inverses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from raising import raised
from running import NUMBER, Bench, refusal

from step.errors import StreamFault
from step.language.dims import format_shape
from step.language.dtypes import BF16
from step.language.graph import Graph
from step.language.tokens import from_nested, to_nested
from step.language.types import Selector, Tile
from step.running.interpreter import interpret

DIMS = ["N", "M", "L"]

# -- partition: shapes ----------------------------------------------------------------------------------------------


@cases(
    ([4], 0, 1, ["[route_D0]", "[route_D1]"]),
    ([4, 3], 1, 1, ["[route_D0, 3]", "[route_D1, 3]"]),
    ([4, 3], 0, 2, ["[route_D0]", "[route_D1]"]),
    (["N", 3, 5], 2, 1, ["[route_D0, 3, 5]", "[route_D1, 3, 5]"]),
    (["N", 3, 5], 1, 2, ["[route_D0, 5]", "[route_D1, 5]"]),
)
def test_partition_shape(dims: list[Any], rank: int, outer: int, shapes: list[str], bench: Bench) -> None:
    x, which = bench.source("x", "D", dims), bench.choose("which", "D", 2, dims[:outer])
    outputs = x.partition(which, targets=2, rank=rank, name="route")
    assert [format_shape(each.shape) for each in outputs] == shapes
    assert {each.element for each in outputs} == {NUMBER}
    assert [str(each) for each in outputs] == ["route.0", "route.1"]


def test_symbols_of_a_partition_are_dynamic_and_say_where_they_were_born(bench: Bench) -> None:
    bench.source("x", "D", [4]).partition(bench.choose("which", "D", 2, [4]), targets=2, name="route")
    info = bench.graph.symbols["route_D1"]
    assert (info.of, info.dim.is_static, info.dim.is_ragged) == ("route", False, False)
    assert str(info.born).rpartition(":")[0].endswith("test_routing.py")


def test_one_selector_stream_gives_the_same_symbols_everywhere(bench: Bench) -> None:
    which, other = bench.choose("which", "D", 2, [4]), bench.choose("other", "D", 2, [4])
    x = bench.source("x", "D", [4])
    first = x.partition(which, targets=2)
    again = bench.source("y", "D", [4, 3], Tile(BF16)).partition(which.buffered(9), targets=2, rank=1)
    another = x.partition(other, targets=2)
    assert first[0].shape == again[0].shape[:1] and first[1].shape == again[1].shape[:1]
    assert first[0].shape != first[1].shape
    assert another[0].shape != first[0].shape


def test_ragged_chunks_have_new_symbols_at_every_target(bench: Bench) -> None:
    """A ragged symbol counts all tensors of a stream, and no target gets them all."""
    x = bench.source("x", "1 2 S1 3 S1 4 5 6 S1 D", ["N", "R"])
    outputs = x.partition(bench.choose("which", "1 2 1 D", 2, ["N"]), targets=2, rank=1)
    inner = {str(x.shape[1]), *(str(each.shape[1]) for each in outputs)}
    assert len(inner) == 3 and all(each.shape[1].is_ragged for each in outputs)


@cases(
    (lambda b: b.source("x", "D", [4]).partition(b.source("w", "D", [4]), targets=2),
     "the second stream must carry selectors, not Tile(INT32, 1, 1)"),
    (lambda b: b.source("x", "D", [4]).partition(b.choose("w", "D", 3, [4]), targets=2),
     "2 outputs need Selector(2), not Selector(3)"),
    (lambda b: b.source("x", "D", [4]).partition(b.choose("w", "D", 2, [5]), targets=2),
     "with rank 0 there must be one selector per element of [4], but the selectors are [5]"),
    (lambda b: b.source("x", "D", [4, 2]).partition(b.choose("w", "D", 2, [4]), targets=2),
     "with rank 0 there must be one selector per element of [4, 2], but the selectors are [4]"),
    (lambda b: b.source("x", "D", [4, 2]).partition(b.choose("w", "D", 2, [4]), targets=2, rank=2),
     "rank must be 0 to 1 here, not 2"),
    (lambda b: b.source("x", "D", [4, 2]).partition(b.choose("w", "D", 2, [4]), targets=2, rank=-1),
     "rank must be 0 to 1 here, not -1"),
)  # fmt: skip
def test_partition_is_refused(build: Any, message: str) -> None:
    assert refusal("partition", build) == message


def assert_faults(heads: list[str], operator: str, run: Callable[[], Any]) -> None:
    """The fault of ``operator``, and the tokens in front of its inputs."""
    first, *rest = raised(StreamFault, run).split("\n")
    assert first.startswith(f"{operator} (") and first.endswith(f"): {heads[0]}")
    assert [line.strip() for line in rest] == heads[1:]


# -- partition: meaning ---------------------------------------------------------------------------------------------


@cases(
    (0, 1, 2, "1 2 3 D", "1 2 1 D", ["1 3 D", "2 D"]),
    # to several targets, and to none
    (0, 1, 2, "1 2 3 D", "3 0 2 D", ["1 D", "1 3 D"]),
    # the outer structure is dropped, empty rows of it too
    (0, 2, 2, "1 2 S1 E1 3 S1 D", "1 2 S1 E1 1 S1 D", ["1 3 D", "2 D"]),
    (1, 1, 2, "1 2 S1 3 S1 D", "2 1 D", ["3 S1 D", "1 2 S1 D"]),
    # empty chunks are routed as empty chunks
    (1, 1, 2, "1 2 S1 E1 3 S1 E1 D", "1 3 2 2 D", ["1 2 S1 E1 D", "E1 3 S1 E1 D"]),
    # rows that have no chunk at all
    (1, 2, 2, "E2 1 S1 E1 S2 E2 D", "E1 1 2 S1 E1 D", ["1 S1 D", "E1 D"]),
    (2, 1, 2, "1 2 S1 3 S2 E2 E1 4 S2 D", "1 3 2 D", ["1 2 S1 3 S2 E2 D", "E2 E1 4 S2 D"]),
)
def test_partition_meaning(
    rank: int, outer: int, targets: int, x: str, which: str, outputs: list[str], bench: Bench
) -> None:
    dims = bench.dims(["N", "M", "L", "K"][: outer + rank])
    stream, selector = bench.source("x", x, dims), bench.choose("which", which, targets, dims[:outer])
    assert bench.texts(*stream.partition(selector, targets=targets, rank=rank)) == outputs


@cases(
    (0, 1, "1 D", "1 1 D", ["a selector came without the data that it should route",
                           "token 1 of x is Done", "token 1 of which is a value"]),
    (0, 1, "1 2 D", "1 D", ["data is left over after the last selector",
                           "token 1 of x is a value", "token 1 of which is Done"]),
    (0, 2, "1 2 S1 D", "1 S1 D", ["its inputs do not have the same shape",
                                 "token 0 of x is a value", "token 0 of which is a value with S1"]),
    (0, 2, "E1 D", "1 S1 D", ["its inputs do not have the same shape",
                             "token 0 of x is an empty of rank 1", "token 0 of which is a value with S1"]),
    (0, 2, "1 S1 D", "E1 D", ["its inputs do not have the same shape",
                             "token 0 of x is a value with S1", "token 0 of which is an empty of rank 1"]),
    (1, 1, "1 S1 D", "1 1 D", ["a selector came without the data that it should route",
                              "token 1 of x is Done", "token 1 of which is a value"]),
    (1, 2, "1 S1 2 S2 D", "1 S1 1 S1 D", ["its inputs do not have the same shape",
                                         "token 0 of x is a value with S1", "token 0 of which is a value with S1"]),
)  # fmt: skip
def test_partition_faults(rank: int, outer: int, x: str, which: str, heads: list[str], bench: Bench) -> None:
    dims = bench.dims(["N", "M", "L"][: outer + rank])
    stream, selector = bench.source("x", x, dims), bench.choose("which", which, 2, dims[:outer])
    outputs = stream.partition(selector, targets=2, rank=rank, name="route")
    assert_faults(heads, "partition 'route'", lambda: bench.texts(*outputs))


# -- reassemble -----------------------------------------------------------------------------------------------------


def gather(rank: int, order: str, data: list[str], which: str, outer: int = 1) -> str:
    bench = Bench()
    inner = [bench.graph.symbol(f"I{level}", ragged=True) for level in range(rank)]
    streams = [
        bench.source(f"x{port}", text, [bench.graph.symbol(f"D{port}"), *inner]) for port, text in enumerate(data)
    ]
    selector = bench.choose("which", which, len(data), DIMS[:outer])
    return bench.text(bench.graph.reassemble(streams, selector, rank=rank, order=order, name="gather"))


@pytest.mark.parametrize("order", ["index", "arrival"])
@cases(
    (0, 1, ["D", "D"], "D", "D"),
    (0, 1, ["1 2 D", "3 D"], "1 2 1 D", "1 S1 3 S1 2 S1 D"),
    (0, 1, ["1 2 D", "3 4 D"], "3 3 D", "1 3 S1 2 4 S1 D"),
    # an empty selector gives an empty tensor
    (0, 1, ["1 D", "2 D"], "0 3 0 D", "E1 1 2 S1 E1 D"),
    # the selector's own stop is added
    (0, 2, ["1 2 D", "3 D"], "1 2 S1 E1 1 S1 D", "1 S1 3 S2 E2 2 S2 D"),
    (0, 2, ["1 D", "3 D"], "1 0 S1 2 S1 D", "1 S1 E1 S2 3 S2 D"),
    (1, 1, ["1 2 S1 D", "3 S1 D"], "3 D", "1 2 S1 3 S2 D"),
    (1, 1, ["1 2 S1 4 S1 D", "3 S1 D"], "2 1 1 D", "3 S2 1 2 S2 4 S2 D"),
    # empty chunks stay rows
    (1, 1, ["E1 D", "3 S1 D"], "3 D", "E1 3 S2 D"),
    (1, 1, ["3 S1 D", "E1 D"], "3 D", "3 S1 E1 S2 D"),
    (1, 1, ["E1 D", "E1 D"], "3 D", "E1 E1 S2 D"),
    (1, 2, ["1 S1 E1 D", "3 S1 D"], "E1 2 1 S1 E1 0 1 S1 D", "E3 3 S2 1 S3 E3 E2 E1 S3 D"),
    (2, 1, ["1 S1 2 S2 D", "E1 E1 S2 D"], "3 0 D", "1 S1 2 S2 E1 E1 S3 E3 D"),
    # one target only
    (1, 1, ["1 2 S1 E1 3 S1 D"], "1 0 1 1 D", "1 2 S2 E2 E1 S2 3 S2 D"),
)  # fmt: skip
def test_reassemble_meaning(rank: int, outer: int, data: list[str], which: str, result: str, order: str) -> None:
    """Untimed, everything has arrived: both orders are the order of the inputs."""
    assert gather(rank, order, data, which, outer) == result


def test_reassemble_shape(bench: Bench) -> None:
    inputs = [bench.source(f"x{port}", "D", [f"D{port}", 3, 5]) for port in range(2)]
    y = bench.graph.reassemble(inputs, bench.choose("which", "D", 2, [4, "M"]), rank=2)
    assert format_shape(y.shape) == "[4, M, reassemble_0_selected, 3, 5]"
    assert bench.graph.symbols["reassemble_0_selected"].dim.is_ragged and y.element == NUMBER


def test_ragged_chunks_are_a_new_ragged_dimension_together(bench: Bench) -> None:
    inputs = [bench.source(f"x{port}", "D", [f"D{port}", f"R{port}"]) for port in range(2)]
    y = bench.graph.reassemble(inputs, bench.choose("which", "D", 2, [4]), rank=1)
    assert y.shape[2].is_ragged and y.shape[2] not in {each.shape[1] for each in inputs}


@cases(
    (lambda b: b.graph.reassemble([], b.choose("w", "D", 1, [2])),
     "reassemble takes data and selectors, not 1 streams"),
    (lambda b: b.graph.reassemble([b.source("x", "D", [2])], b.source("w", "D", [2])),
     "the last stream must carry selectors, not Tile(INT32, 1, 1)"),
    (lambda b: b.graph.reassemble([b.source("x", "D", [2])], b.choose("w", "D", 2, [2])),
     "1 data streams need Selector(1), not Selector(2)"),
    (lambda b: b.graph.reassemble([b.source("x", "D", [2])], b.choose("w", "D", 1, [2]), rank=1),
     "rank must be 0 to 0 here, not 1"),
    (lambda b: b.graph.reassemble([b.source("x", "D", [2, 3])], b.choose("w", "D", 1, [2])),
     "data streams must have rank 0, but input 0 has 1"),
    (lambda b: b.graph.reassemble([b.source("x", "D", [2, 3]), b.source("y", "D", [2, 4])],
                                  b.choose("w", "D", 2, [2]), rank=1),
     "data streams must carry equal chunks, but input 0 is [2, 3] of Tile(INT32, 1, 1) "
     "and input 1 is [2, 4] of Tile(INT32, 1, 1)"),
    (lambda b: b.graph.reassemble([b.source("x", "D", [2]), b.source("y", "D", [2], Tile(BF16))],
                                  b.choose("w", "D", 2, [2])),
     "data streams must carry equal chunks, but input 0 is [2] of Tile(INT32, 1, 1) "
     "and input 1 is [2] of Tile(BF16, 1, 1)"),
)  # fmt: skip
def test_reassemble_is_refused(build: Any, message: str) -> None:
    assert refusal("reassemble", build) == message


@cases(
    (["1 D", "2 D"], "1 1 D", ["a selector came without the data that it should route", "token 1 of which is a value"]),
    (["1 D", "2 D"], "1 D",
     ["data is left over after the last selector", "token 1 of x0 is Done", "token 0 of x1 is a value",
      "token 1 of which is Done"]),
)  # fmt: skip
def test_reassemble_faults(data: list[str], which: str, heads: list[str]) -> None:
    assert_faults(heads, "reassemble 'gather'", lambda: gather(0, "index", data, which))


# -- inverses -------------------------------------------------------------------------------------------------------

chunks = st.lists(st.tuples(st.integers(0, 2), st.lists(st.integers(0, 9), max_size=3)), max_size=8)


@given(chunks)
def test_reassemble_undoes_partition(routed: list[tuple[int, list[int]]]) -> None:
    """One target a chunk: every chunk comes back in its place, in a tensor of one chunk."""
    graph = Graph("inverse")
    count = graph.symbol("N")
    x = graph.source("x", Selector(4), [count, graph.symbol("R", ragged=True)])
    which = graph.source("which", Selector(3), [count])
    y = graph.reassemble(x.partition(which, targets=3, rank=1), which, rank=1)
    data = [each for _, each in routed]
    inputs = {"x": from_nested(data, 1), "which": from_nested([1 << target for target, _ in routed], 0)}
    run = interpret(graph, inputs, record=True)
    assert to_nested(run.streams[str(y)], 2) == [[each] for each in data]


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 9)), max_size=8))
def test_multi_hot_copies_come_back_once_per_target(routed: list[tuple[int, int]]) -> None:
    graph = Graph("inverse")
    count = graph.symbol("N")
    x, which = graph.source("x", Selector(4), [count]), graph.source("which", Selector(3), [count])
    y = graph.reassemble(x.partition(which, targets=3), which)
    inputs = {"x": from_nested([each for _, each in routed], 0), "which": from_nested([mask for mask, _ in routed], 0)}
    run = interpret(graph, inputs, record=True)
    assert to_nested(run.streams[str(y)], 1) == [[each] * mask.bit_count() for mask, each in routed]
