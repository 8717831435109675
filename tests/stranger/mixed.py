"""A mixture of two experts on rows whose number the run tells: a product with a weight, and a sum with itself."""

from __future__ import annotations

import numpy as np

from step import BF16, FabricConfig, Graph, MemoryConfig, Program, Tile
from step.functions import Matmul

ROUTES = (0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 0)


def program() -> Program:
    graph = Graph("mixed")
    count = graph.symbol("N")
    routes = graph.selectors("routes", 2, [count])
    first, second = graph.source("x", Tile(BF16, 1, 4), [count]).partition(routes, targets=2, name="route")
    rows = first.buffered(len(ROUTES))
    weights = graph.load(graph.tensor("w", (4, 4), BF16), tile=(4, 4), reference=rows, name="weight").flatten(0, 2)
    results = [
        rows.map(Matmul(out=BF16), weights, name="product").buffered(len(ROUTES)),
        (second + second).buffered(len(ROUTES)),
    ]
    graph.reassemble(results, routes.buffered(len(ROUTES)), name="gather").flatten(0, 1, name="in_order").sink("y")
    random = np.random.default_rng(7)
    data = {"routes": np.array(ROUTES), "x": random.standard_normal((len(ROUTES), 1, 4)), "w": np.eye(4)[::-1] * 3}
    return Program(graph, data, fabric=FabricConfig(matmul_lanes=1, link_bytes=4, memory=MemoryConfig(beat_bytes=8)))
