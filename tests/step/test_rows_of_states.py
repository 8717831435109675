"""Rows of states: those of the elements of a reduction, and none where it has no elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import cases

import step
from step import BF16, FP32, Graph, Tile, bind, metrics
from step.errors import StepError
from step.functions import Add, Matmul, Max, RetileCol, RetileStreamify, Silu


@cases(
    ("H", 3, "H"), ("H", "N", "H*Min(1, N)"), ("H", "L", "state_rows/2"), ("H", 0, "state_rows/2"), ("R", 3, "R/6"),
    ("R", "N", "R/Max(1, 2*N)"), ("R", "L", "state_rows/2"), ("R", 0, "R"), (4, "L", "4"),
)  # fmt: skip
def test_types(rows: Any, extent: Any, result: str) -> None:
    """Regular rows: H; ragged ones: R. A regular extent: N, a ragged one: L."""
    graph, symbols = Graph("states"), {"H": False, "N": False, "R": True, "L": True}
    rows, extent = (graph.symbol(each, ragged=symbols[each]) if each in symbols else each for each in (rows, extent))
    x = graph.source("x", Tile(BF16, rows, 4), [2, extent])
    sums = x.accum(Add(out=BF16), name="state")
    assert str(sums.element) == f"Tile(BF16, {result}, 4)"
    x.accum(Max(), name="most").map(Add(), sums)  # reductions of one stream have the same rows
    assert x.scan(Add(out=BF16)).element == x.element


def test_streams_of_other_shapes_have_other_rows(graph: Graph) -> None:
    rows, extents = graph.symbol("H"), [graph.symbol(each, ragged=True) for each in "LM"]
    one, other = (graph.source(f"x{each}", Tile(BF16, rows, 4), [2, each]) for each in extents)
    assert str(one.accum(Add(), name="one").element) == "Tile(FP32, one_rows/2, 4)"
    assert str(other.accum(Add(), name="other").element) == "Tile(FP32, other_rows/2, 4)"


def test_of_a_product(graph: Graph) -> None:
    extent = graph.symbol("L", ragged=True)
    x = graph.source("x", Tile(BF16, graph.symbol("H"), 4), [2, extent])
    state = x.accum(Matmul(), graph.source("w", Tile(BF16, 4, 3), [2, extent]), name="state")
    assert str(state.element) == "Tile(FP32, state_rows/2, 3)"


@pytest.mark.parametrize("ragged", [False, True])
def test_metrics_count_the_rows_that_there_are(ragged: bool, graph: Graph) -> None:
    x = graph.source("x", Tile(FP32, graph.symbol("H", ragged=ragged), 4), [3, graph.symbol("L", ragged=True)])
    x.accum(Add(), name="state").map(Silu()).sink("y")
    rows = [[2, 2], [], [5 if ragged else 2]]
    inputs = {"x": [[np.ones((each, 4)) for each in tiles] for tiles in rows]}
    values, there = bind(graph, inputs), sum(tiles[0] for tiles in rows if tiles)
    assert values["state_rows"] == there
    assert metrics(graph).bind(values).flops == 4 * sum(map(sum, rows)) + Silu().flops(Tile(FP32)) * 4 * there


@pytest.mark.parametrize("backend", ["interpret", "approx"])
def test_ragged_rows_stand_beside_each_other(backend: str, graph: Graph) -> None:
    """As many of each tile of a reduction: others are a fault."""
    x = graph.source("x", Tile(BF16, graph.symbol("R", ragged=True), 1), [2, 2])
    x.accum(RetileCol(), name="wide").flat_map(RetileStreamify(1, "row", rank=1)).sink("y")
    inputs = {"x": [[np.full((rows, 1), rows), np.ones((rows, 1))] for rows in (1, 3)]}
    options = {"values": "all"} if backend == "approx" else {}
    run = step.run(graph, backend, inputs=inputs, **options)
    assert [each.tolist() for each in run.outputs["y"].ragged().values] == [[[1, 1]], *[[[3, 1]]] * 3]
    inputs["x"][1][1] = np.ones((2, 1))
    with pytest.raises(StepError, match="takes tiles together that have different numbers of rows"):
        step.run(graph, backend, inputs=inputs, **options)
