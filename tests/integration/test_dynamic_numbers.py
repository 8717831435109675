"""Tiles of dynamic size with one number in a row: with one row they look like control, and are none."""

from __future__ import annotations

import numpy as np
import pytest
from cases import cases

import step
from step import UINT32, FabricConfig, Graph, Program, Tile
from step.functions import RetileRow, RetileStreamify

pytestmark = pytest.mark.large


def numbers(rows: int, link: int, own: int) -> Program:
    """Numbers in columns through units with narrower links, or wider ones, than all others."""
    graph = Graph("numbers")
    x = graph.source("x", Tile(UINT32, graph.symbol("H", ragged=True), 1), [graph.symbol("N")])
    x.promote(name="promoted").flatten(0, 1).sink("y")
    x.flat_map(RetileStreamify(chunk=1, axis="row")).sink("rows")
    x.zip(x).item_of(1).sink("item")
    again = x.reshape(1, name="reshaped")[0]
    again.sink("again")
    if link >= 4:  # as wide as a scalar
        again.accum(RetileRow()).sink("joined")
    data = [np.arange(7, 7 + min(count, rows), dtype=np.uint32)[:, None] for count in (1, 2, 1, 0, 1, 3, 1)]
    links = {"promoted": own, "reshaped": own}
    fabric = FabricConfig(dynamic_rows=rows, link_bytes=link, links=links, block_ram_words=1, channel_depth=4)
    return Program(graph, {"x": data}, fabric)


@cases((4, 4, 1), (1, 1, 2), pytest.param(1, 8, 2, marks=pytest.mark.slow))
def test_a_row_of_one_number_takes_its_words(rows: int, link: int, own: int) -> None:
    found = step.compare(numbers(rows, link, own))
    assert found.passed and found.mismatches == 0
