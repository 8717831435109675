"""Symbols that operators make: valid names, each its own, and equal where extents are."""

from __future__ import annotations

from typing import Any

import pytest
from cases import cases
from raising import raised

import step
from step import BF16, Dim, Graph, Stream, Tile
from step.errors import TypeMismatch
from step.functions import RetileRow, RetileStreamify
from step.programs.files.serialize import graph_from_json, graph_to_json
from step_check.fuzz.program import build


def rows_apart(graph: Graph, outer: int = 1) -> Stream:
    """Rows joined to tiles of dynamic size, and taken apart again."""
    a, b = graph.symbol("R1", ragged=True), graph.symbol("R2", ragged=True)
    x = graph.source("x", Tile(BF16, 1, 4), [2, a, outer, b])
    return x.accum(RetileRow(), rank=1).flat_map(RetileStreamify(chunk=1, axis="row"))


def test_rows_apart_are_as_they_were() -> None:
    rows = rows_apart(Graph("g"))
    assert str(rows.type) == "[2, R1, R2] of Tile(BF16, 1, 4)"
    assert str(rows.type.count) == "R2"
    assert str(rows_apart(Graph("g"), 2).type) == "[2, R1, flat_map_0_joined] of Tile(BF16, 1, 4)"


@cases(
    (lambda graph, rows: rows.partition(graph.selectors("s", 2, [2]), targets=2, rank=2)[1],
     "[partition_0_D1, partition_0_R1_1, partition_0_R2_1] of Tile(BF16, 1, 4)"),
    (lambda graph, rows: rows.until(graph.selectors("s", 1, [2]).reshape(1)[0].flatten(0, 1)),
     "[until_0_D0, until_0_R1, until_0_R2] of Tile(BF16, 1, 4)"),
    ids=["partition", "until"],
)  # fmt: skip
def test_rows_apart_are_routed(route: Any, shape: str) -> None:
    graph = Graph("g")
    routed = route(graph, rows_apart(graph))
    assert str(routed.type) == shape
    routed.sink("y")
    assert graph_to_json(graph_from_json(graph_to_json(graph))) == graph_to_json(graph)


def test_a_dimension_that_is_an_expression_gives_a_name(graph: Graph) -> None:
    mean = Dim(rows_apart(graph).shape[2].extent / 3, step.DimKind.RAGGED)
    routed = graph.source("z", Tile(BF16), [2, mean]).partition(graph.selectors("s", 2, [2]), targets=2, rank=1)
    assert [str(each.shape[1]) for each in routed] == ["partition_0_R2_3_0", "partition_0_R2_3_1"]


def test_two_ways_to_one_name(graph: Graph) -> None:
    """The operator ``p`` and the dimension ``q_D0``, and the operator ``p_q`` and the dimension ``D0``."""
    for number, (name, dim) in enumerate([("p", "q_D0"), ("p_q", "D0")]):
        x = graph.source(f"x{number}", Tile(BF16), [2, graph.symbol(dim, ragged=True)])
        parts = x.partition(graph.selectors(f"s{number}", 1, [2]), targets=1, rank=1, name=name)
        assert str(parts[0].shape[1]) == "p_q_D0_0" + "_2" * number


def test_all_ragged_dimensions_of_random_programs_are_symbols() -> None:
    for seed in range(40):
        graph = Graph("random")
        build(seed, graph)
        for stream in graph.streams():
            assert all(each.extent.is_Symbol for each in stream.shape if each.is_ragged), (seed, stream)


def buffers(graph: Graph, name: str, extent: Dim) -> Stream:
    return graph.source(name, Tile(BF16), [2, extent]).bufferize()


def test_buffers_alike_are_read_alike(graph: Graph) -> None:
    extent = graph.symbol("R", ragged=True)
    read = [buffers(graph, name, extent).streamify(count=3) for name in "ab"]
    assert str((read[0] + read[1]).type) == "[2, 3, streamify_0_D0] of Tile(BF16, 1, 1)"
    other = buffers(graph, "c", extent).streamify(count=2)
    assert str(other.shape[2]) == "streamify_2_D0"


def test_symbols_that_may_be_equal_are_told_how_to_say_so(graph: Graph) -> None:
    one, other = (graph.source(name, Tile(BF16), [2, graph.symbol(name.upper())]) for name in "ab")
    with pytest.raises(TypeMismatch) as error:
        _ = one + other
    assert (
        "inputs must have the same shape, but input 0 is [2, A] and input 1 is [2, B]; if B is A in every run, say "
        "so: stream.assume_shape(other.shape)\n"
    ) in str(error.value)
    error = raised(TypeMismatch, lambda: one.partition(graph.selectors("s", 2, [2, 3]), targets=2))
    assert (
        "with rank 0 there must be one selector per element of [2, A], but the selectors are [2, 3]; if 3 is A in "
        "every run, say so: stream.assume_shape(other.shape)\n"
    ) in error
