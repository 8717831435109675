"""Buffers of tiles with a dynamic number of rows in RTL: values as interpreted, every token in its cycle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import cases
from dynamic import COUNTS, Rows, told

from step import BF16, FabricConfig, Graph, Program, Tile
from step.errors import FabricError
from step.functions import Silu
from step.lowering.feasible import check_feasible
from step.lowering.netlist import lower

pytestmark = pytest.mark.large


@cases(
    pytest.param(64, {"scratchpad_ports": 4, "scratchpad_banks": 1, "page_bytes": 4096}, marks=pytest.mark.slow),
    pytest.param(3, {"link_bytes": 16, "scratchpad_ports": 4, "scratchpad_banks": 2}, marks=pytest.mark.slow),
    (20, {"link_bytes": 8, "scratchpad_ports": 1, "page_bytes": 2048}),
    ids=str,
)
def test_reads(cols: int, fabric: dict[str, Any]) -> None:
    """Once, so often, after a reference, and with strides; several shares draw on the same banks."""
    rows = Rows(cols)
    x = rows.given()
    values = rows.random.standard_normal
    rows.inputs["pairs"] = [[values((each, cols)) for each in COUNTS[at : at + 2]] for at in range(0, len(COUNTS), 2)]
    pairs = rows.graph.source("pairs", Tile(BF16, rows.graph.symbol("P", ragged=True), cols), [len(COUNTS) // 2, 2])
    whole, again = x.promote().bufferize(), pairs.bufferize()
    whole.streamify().map(Silu()).sink("once")
    again.streamify(count=3).sink("so_often")
    pairs.bufferize().streamify(out=[3], stride=[0], count=2).sink("strides")
    pairs.bufferize().streamify(reference=pairs.map(Silu())).sink("referred")
    rows.fixed("fixed", Tile(BF16, 4, cols)).promote().bufferize().streamify(count=2).sink("static")
    rows.checked(**{"dynamic_rows": 16, "vector_lanes": 8, **fabric})


def test_pages_have_room_for_the_most_rows(graph: Graph) -> None:
    tiles = graph.source("x", Tile(BF16, graph.symbol("R", ragged=True), 64), [2, 2])
    tiles.bufferize(name="keep").streamify().sink("y")
    with pytest.raises(FabricError) as error:
        check_feasible(lower(graph, FabricConfig(dynamic_rows=12)))
    assert str(error.value) == (
        f"bufferize 'keep' ({graph.nodes['keep'].location}): a tile of its buffers has 1536 bytes with 12 rows, but a "
        "page of on-chip memory has 1024; choose a fabric with page_bytes=2048, or with fewer dynamic_rows"
    )
    check_feasible(lower(graph, FabricConfig(dynamic_rows=8)))


def test_buffers_that_grow_too_large(graph: Graph) -> None:
    """Every tile has the place of one with the most rows, also if it has none."""
    tiles = graph.source("x", Tile(BF16, graph.symbol("R", ragged=True), 64), [2, graph.symbol("N", ragged=True)])
    tiles.bufferize(name="keep").streamify().sink("y")
    fabric = FabricConfig(dynamic_rows=8, scratchpad_bytes=4096)
    inputs = {"x": [[np.ones((rows, 64)) for rows in (8, 0, 3, 8)], [np.ones((0, 64))] * 5]}
    assert told(Program(graph, inputs, fabric)) == {
        f"bufferize 'keep' ({graph.nodes['keep'].location}): a buffer is larger than its scratchpad of 4096 bytes\n"
        "  token 8 of x is a value with S1",
        "",  # the interpreter has no scratchpads
    }
