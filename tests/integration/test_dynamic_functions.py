"""Functions of rows with a dynamic number of them: values as interpreted, every token in the cycle of both engines."""

from __future__ import annotations

import numpy as np
import pytest
from dynamic import Rows

from step import UINT32, Tile
from step.functions import ArgMax, CausalMask, Column, FilterLastTile, RotateHalf


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
