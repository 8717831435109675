"""A program that stores into a cache, reads it behind the acknowledgements, and looks up a table."""

from __future__ import annotations

import numpy as np

from step import INT32, UINT32, FabricConfig, Graph, Program, Tile

FABRIC = FabricConfig(matmul_lanes=4, vector_lanes=4)
GOOD = {
    "places": [[3, 0], [1]],
    "rows": [[np.full((1, 4), value, np.int32) for value in row] for row in ([7, 8], [9])],
    "which": [2, 0, 1],
    "cache": np.arange(16).reshape(2, 8),
    "table": np.arange(24).reshape(6, 4),
}
BEYOND_THE_CACHE = {**GOOD, "places": [[3, 0], [4]]}
BEYOND_THE_TABLE = {**GOOD, "which": [2, 0, 3]}
OTHER_SHAPE = {**GOOD, "places": [[3], [0, 1]]}


def program() -> Program:
    """The cache has four tiles, the table three."""
    graph = Graph("cached")
    length = graph.symbol("length", ragged=True)
    places = graph.source("places", Tile(UINT32), [2, length])
    rows = graph.source("rows", Tile(INT32, 1, 4), [2, length])
    cache = graph.tensor("cache", (2, 8), INT32)
    done = rows.store_random(cache, places, name="kept").reshape(1, name="done")[0]
    again = places.reshape(1, name="again")[0].expand(done, name="now").flatten(0, 1, name="ordered")
    again.load_random(cache, tile=(1, 4), name="read").sink("cached")
    which = graph.source("which", Tile(UINT32), [graph.symbol("n")])
    which.load_random(graph.tensor("table", (6, 4), INT32), tile=(2, 4), name="found").sink("entries")
    return Program(graph, GOOD, FABRIC)
