"""Functions of rows with a dynamic number of them: values as interpreted, every token in the cycle of both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dynamic import Rows, told

from step import BF16, UINT32, FabricConfig, Graph, Program, Tile
from step.functions import Add, ArgMax, CausalMask, Column, FilterLastTile, RotateHalf, RowSum

pytestmark = pytest.mark.large


@pytest.mark.parametrize("link_bytes", [16, pytest.param(64, marks=pytest.mark.slow)])
def test_functions_of_rows(link_bytes: int) -> None:
    rows = Rows(24)
    x = rows.given()
    for number, function in enumerate((ArgMax(), RotateHalf(), Column(5))):
        x.map(function).sink(f"y{number}")
    first, last = (rows.graph.source(name, Tile(UINT32), x.shape) for name in ("first", "last"))
    rows.inputs |= {"first": np.arange(10), "last": np.arange(10)[::-1]}
    x.map(CausalMask(), first, last).sink("masked")
    x.map(FilterLastTile(1.0), first).sink("filtered")
    rows.checked(link_bytes=link_bytes, vector_lanes=8)


def test_functions_of_rows_on_links_narrower_than_scalars() -> None:
    rows = Rows(6)
    x, first = rows.given(), rows.graph.source("first", Tile(UINT32), [10])
    rows.inputs["first"] = np.arange(10)
    for number, function in enumerate((RotateHalf(), Column(5))):
        x.map(function).sink(f"y{number}")
    x.map(CausalMask(), first, first).sink("masked")
    rows.checked(link_bytes=1)


@pytest.mark.parametrize("function", [ArgMax(), RowSum(), Add()], ids=lambda each: each.name)
def test_scalars_that_are_wider_than_links(function: Any, graph: Graph) -> None:
    """Of rows too; where a tile has one row at most, too, which is not control."""
    x = graph.source("x", Tile(UINT32 if function == Add() else BF16, graph.symbol("R", ragged=True), 1), [4])
    x.map(function, *[x] * (function == Add()), name="wide").sink("y")
    inputs = {"x": [np.arange(1.0 * rows).reshape(rows, 1) for rows in (1, 0, 1, 1)]}
    place = graph.nodes["wide"].location
    assert told(Program(graph, inputs, FabricConfig(dynamic_rows=1, link_bytes=2))) == {
        "",  # the interpreter has no links
        f"map 'wide' ({place}): there is no hardware of the function {function.name!r} here for tiles with a dynamic "
        "number of rows; choose link_bytes of a scalar or more",
    }
