"""A program with all that a board has: loads and stores on both buses, acknowledged, and rows that may be too long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scenarios.random_memory import ADDRESS, behind

from step.functions.elementwise import Add
from step.language.dtypes import INT32
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.bus import BusConfig
from step.lowering.fabric import FabricConfig
from step.lowering.off_chip import MemoryConfig

FABRIC = FabricConfig(matmul_lanes=8, link_bytes=4, memory=MemoryConfig(beat_bytes=8))
BUS = BusConfig(masters=2, bytes=8, burst=4)
TILES = 8
"""Of a tensor."""


def kept_rows(graph: Graph) -> None:
    """Tiles are stored, read again once that is acknowledged, and summed by row; others are copied.

    The addresses of a row wait until its sum is known, and there is room for two: a longer row is a deadlock.
    """
    dims = [graph.symbol("N"), graph.symbol("M", ragged=True)]
    x, w = graph.source("x", ADDRESS, dims), graph.source("w", Tile(INT32, 2, 2), dims)
    a, b, p = (graph.tensor(name, (4, 8), INT32) for name in "abp")
    kept = w.store_random(a, x, name="kept")
    x.load_random(p, tile=(2, 2), name="direct").store_random(b, x, name="copied").sink("t")
    total = behind(x, kept).load_random(a, tile=(2, 2), name="again").accum(Add(), name="total")
    total.repeat(1, name="one").expand(x, name="spread").sink("y")


def row_data(seed: int, rows: Sequence[int]) -> dict[str, Any]:
    """Random inputs of `kept_rows`, with so many tiles in each row; no place is written twice."""
    random = np.random.default_rng(seed)
    places = iter(random.permutation(TILES).astype(np.uint32))
    return {
        "x": [[next(places) for _ in range(row)] for row in rows],
        "w": [[_random(random, 2, 2) for _ in range(row)] for row in rows],
        **{name: _random(random, 4, 8) for name in "abp"},
    }


def _random(random: np.random.Generator, *shape: int) -> Any:
    return random.integers(-1 << 20, 1 << 20, shape, dtype=np.int32)
