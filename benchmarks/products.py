"""Products of 64 x 64 tiles, which take all of many multiply-accumulate lanes: what is slow in RTL.

step run benchmarks/products.py:on_256_lanes
"""

from __future__ import annotations

import numpy as np

from step import BF16, FabricConfig, Graph, MemoryConfig, Program
from step.functions import Matmul

SIZE, TILES = 64, 128


def on_256_lanes() -> Program:
    """16 lanes for each of 16 rows: a product takes 1,024 cycles."""
    return _products(256)


def on_4096_lanes() -> Program:
    """A lane for every scalar of a product, which takes 64 cycles."""
    return _products(4096)


def _products(lanes: int) -> Program:
    """``TILES`` products of tiles that are read from memory, with one weight, and written back.

    With more than one of `stages` no more lanes than a quarter of the scalars could have work.
    """
    graph = Graph(f"products_{lanes}_lanes")
    x = graph.load(graph.tensor("x", (TILES * SIZE, SIZE), BF16), tile=(SIZE, SIZE)).flatten(0, 1)
    weight = graph.tensor("weight", (SIZE, SIZE), BF16)
    weights = graph.load(weight, tile=(SIZE, SIZE), out=(1,), reference=x).flatten(0, 1)
    x.map(Matmul(out=BF16), weights, name="product").store("y")
    random = np.random.default_rng(0)
    data = {"x": random.standard_normal((TILES * SIZE, SIZE)), "weight": random.standard_normal((SIZE, SIZE))}
    tile_bytes = 4 * SIZE * SIZE
    memory = MemoryConfig(beat_bytes=128)
    fabric = FabricConfig(tile=SIZE, matmul_lanes=lanes, stages=1, link_bytes=128, page_bytes=tile_bytes, memory=memory)
    return Program(graph, data, fabric)
