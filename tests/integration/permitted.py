"""A program whose only end is a store that lies outside of the tree; the slow stream of permits keeps it back."""

from __future__ import annotations

import numpy as np

from step import INT32, FabricConfig, Graph, MemoryConfig, Program, Tile


def program() -> Program:
    """Two rows of tiles, each of three beats."""
    graph = Graph("permitted")
    memory = MemoryConfig(beat_bytes=4, channels=2, interval=2, latency=5)
    permits = graph.source("permits", Tile(INT32), [2, 1]).expand_static(2)
    tiles = graph.source("tiles", Tile(INT32, 1, 3), [2, 2])
    tiles.store_permitted(permits, "stored")
    data = np.arange(12, dtype=np.int32).reshape(2, 2, 1, 3)
    return Program(graph, {"permits": [[1], [1]], "tiles": data}, FabricConfig(memory=memory))
