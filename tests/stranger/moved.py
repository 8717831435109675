"""A program with all that a board has: a tensor copied, rows that stream through DMA, and a store of any length."""

from __future__ import annotations

from typing import Any

import numpy as np

from step import BF16, FabricConfig, Graph, MemoryConfig, Program, Tile

ROWS = (7, 0, 16, 1, 29)


def program() -> Program:
    graph = Graph("moved")
    graph.load(graph.tensor("x", (16, 16), BF16), tile=(4, 16), name="load").store("y")
    rows = graph.source("s", Tile(BF16, 1, 4), [graph.symbol("N"), graph.symbol("R", ragged=True)])
    rows.sink("t")
    rows.store("u")
    values = iter(np.arange(sum(ROWS) * 4, dtype=np.float32).reshape(-1, 1, 4))
    data: dict[str, Any] = {
        "x": np.arange(256).reshape(16, 16),
        "s": [[next(values) for _ in range(count)] for count in ROWS],
    }
    return Program(graph, data, fabric=FabricConfig(link_bytes=4, memory=MemoryConfig(beat_bytes=8)))
