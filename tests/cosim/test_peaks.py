"""Peaks of on-chip memory: what `compare` says of them. (Real ones are compared wherever `compare` is.)"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cosim.comparing.buffers import BufferComparison, compare_buffers
from sim_approx import backend as approx
from step.language.dtypes import FP32
from step.language.graph import Graph
from step.language.symbols import measure
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.running.interpreter import interpret

FABRIC = FabricConfig(link_bytes=16, page_bytes=128, scratchpad_bytes=128 * 16)
"""A page holds two tiles of 4 x 4, or eight of 1 x 4."""


def found(exact: dict[str, int], approximate: dict[str, int]) -> tuple[BufferComparison, ...]:
    """Buffers of three tiles, of rows, and of empties alone; peaks are those of the fast model, but for these."""
    graph = Graph("peaks")
    graph.source("x", Tile(FP32, 4, 4), [4, 3]).bufferize(name="tiles").streamify(count=3).sink("y")
    for name in ("rows", "empties"):
        ragged = graph.source(
            f"{name}_in", Tile(FP32, 1, 4), [graph.symbol(f"N_{name}"), graph.symbol(name, ragged=True)]
        )
        ragged.bufferize(name=f"b_{name}").streamify(count=2).sink(f"{name}_out")
    rows = [np.ones((count, 1, 4)) for count in (3, 0, 9, 1)]
    inputs = {"x": np.ones((4, 3, 4, 4)), "rows_in": rows, "empties_in": [np.ones((0, 1, 4))] * 3}
    result = approx.run(graph, inputs, FABRIC)
    one, other = (replace(result, buffers={**result.buffers, **each}) for each in (exact, approximate))
    return compare_buffers(lower(graph, FABRIC), one, other, measure(graph, interpret(graph, inputs).checkers))


def test_bounds_are_the_metric_in_whole_pages() -> None:
    """Two buffers of two pages; of rows two as if all of them were in each; empties take pages that no metric knows."""
    by_name = {each.name: each for each in found({}, {})}
    assert {name: each.bound for name, each in by_name.items()} == {
        "tiles": 2 * 2 * 128,
        "b_rows": 2 * 2 * 128,
        "b_empties": None,
        "all buffers": None,
    }
    assert by_name["tiles"].exact == 2 * 2 * 128
    assert 2 * 128 <= by_name["b_rows"].exact <= 3 * 128
    assert by_name["b_empties"].exact == 2 * 128
    assert all(each.difference is None for each in by_name.values())


def test_back_ends_that_differ() -> None:
    lines = [each.difference for each in found({"tiles": 384}, {"tiles": 512}) if each.difference]
    assert lines == ["tiles: 384 bytes at most in the RTL, 512 in the model"]


def test_more_than_the_metric_allows() -> None:
    lines = [each.difference for each in found({"b_rows": 640}, {"b_rows": 640}) if each.difference]
    assert lines == ["b_rows: 640 bytes at most, but the symbolic on-chip metric allows 512"]


def test_a_program_without_buffers(graph: Graph) -> None:
    graph.source("x", Tile(FP32), [2]).sink("y")
    result = approx.run(graph, {"x": [1, 2]}, FABRIC)
    assert compare_buffers(lower(graph, FABRIC), result, result, {}) == ()
