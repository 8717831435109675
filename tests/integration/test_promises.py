"""Shapes that a program promises and its data breaks: the same error in all three back ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from everywhere import TIMED, faults
from scenarios import FABRIC

from step.language.dtypes import INT32
from step.language.graph import Graph
from step.language.types import Tile
from step.running.interpreter import interpret

NUMBER = Tile(INT32)
GOOD: dict[str, Any] = {
    "early": [[1, 2], [3]],
    "early_too": [[1, 2], [3]],
    "threes": [[1, 2, 3], [4, 5, 6]],
    "square": [[1, 2], [3, 4]],
    "some": [1, 2, 3, 4],
    "as_many": [1, 2, 3, 4],
    "chunks": [1, 2],
    "rows": [1, 2, 3, 4, 5, 6],
    "which": np.array([0, 1, 0, 1, 0, 0]),
    "first_again": [[1, 2], [3, 4]],
    "grid": [[[1, 2], [3, 4]]],
    "late": [[1, 2], [3]],
    "late_too": [[1, 2], [3]],
}


def promising() -> Graph:
    """One of every kind of promise, between two units that fault where the shapes of their inputs differ."""
    graph = Graph("promising")

    def pair(name: str) -> None:
        dims = [2, graph.symbol(f"{name}_length", ragged=True)]
        graph.source(name, NUMBER, dims).zip(graph.source(f"{name}_too", NUMBER, dims), name=f"{name}_pair").sink(
            f"{name}_pairs"
        )

    pair("early")
    threes = graph.source("threes", NUMBER, [2, graph.symbol("T", ragged=True)])
    threes.assume_shape([2, 3]).sink("y_threes")
    graph.source("square", NUMBER, [2, graph.symbol("S")]).sink("y_square")
    some = graph.source("some", NUMBER, [graph.symbol("N")])
    graph.source("as_many", NUMBER, some.shape).sink("y_as_many")
    chunks = some.reshape(3)[0]
    chunks.sink("y_some")
    graph.source("chunks", NUMBER, [chunks.shape[0]]).sink("y_chunks")
    first, second = graph.source("rows", NUMBER, [6]).partition(
        graph.selectors("which", 2, [6]), targets=2, name="part"
    )
    first.sink("y_first")
    second.assume_shape([2]).sink("y_second")
    again = graph.source("first_again", NUMBER, [2, graph.symbol("A", ragged=True)]).flatten(0, 1, name="again")
    again.assume_shape(first.shape).sink("y_again")
    grid = graph.source("grid", NUMBER, [1, 2, graph.symbol("G", ragged=True)]).flatten(1, 2, name="rows_of_grid")
    grid.assume_shape([2, 2]).sink("y_grid")
    pair("late")
    return graph


HERE = "(test_promises.py:LINE)"
EARLY = (
    f"zip 'early_pair' {HERE}: its inputs do not have the same shape\n"
    "  token 1 of early is a value with S1\n"
    "  token 1 of early_too is a value"
)
THREES = f"source 'threes' {HERE}: stream threes of shape [2, 3]: token 4 ends a dimension of extent 3 after 2"
BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "static": ({"threes": [[1, 2, 3], [4, 5]]}, THREES),
    "empty from outside": ({"threes": [[], [1, 2, 3]]},
        f"source 'threes' {HERE}: stream threes of shape [2, 3]: token 0 is an empty tensor of rank 1, "
        "but its outermost dimension is 3"),
    "empty": ({"grid": [[[1, 2], []]]},
        f"flatten 'rows_of_grid' {HERE}: stream rows_of_grid of shape [2, 2]: token 2 is an empty tensor of rank 1, "
        "but its outermost dimension is 2"),
    "regular": ({"square": [[1, 2], [3]]}, "stream square: the dimension S must have one extent, but has [1, 2]"),
    "shared": ({"as_many": [1, 2, 3]}, "stream some: the dimension N should be 3, but is [4]"),
    "derived": ({"chunks": [1]}, "stream chunks: the dimension ceiling(N/3) should be 2, but is [1]"),
    "routed": ({"which": np.array([0, 1, 0, 1, 1, 1]), "first_again": [[1], [2]]},
        f"partition 'part' {HERE}: stream part.1 of shape [2]: token 4 ends a dimension of extent 2 after 4"),
    "born": ({"first_again": [[1], [2]]}, "stream part.0: the dimension part_D0 should be 2, but is [4]"),
    "fault first": ({"early_too": [[1, 2, 3], [4]], "threes": [[1, 2, 3], [4, 5]]}, EARLY),
    "promise first": ({"late_too": [[1], [4]], "threes": [[1, 2, 3], [4, 5]]}, THREES),
    "two promises": ({"which": np.ones(6, int), "threes": [[1, 2, 3], [4, 5]]}, THREES),
    "symbols last": ({"as_many": [1, 2, 3], "late_too": [[1], [4]]},
        f"zip 'late_pair' {HERE}: its inputs do not have the same shape\n"
        "  token 0 of late is a value\n"
        "  token 0 of late_too is a value with S1"),
}  # fmt: skip


def test_good_data_runs_everywhere() -> None:
    interpret(promising(), GOOD)
    cycles = [run(promising(), GOOD, FABRIC).cycles for run in TIMED.values()]
    assert cycles[0] == cycles[1]


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_promise_is_the_same_error_everywhere(case: str) -> None:
    change, wanted = BROKEN[case]
    inputs = {**GOOD, **change}
    exact, model = faults(promising(), inputs, FABRIC, wanted)
    assert (exact.cycles, exact.channels) == (model.cycles, model.channels)
