"""Four products of 64 x 64 tiles in a row, which keep many multiply-accumulate lanes busy: what is slow in RTL.

step run benchmarks/products.py:on_256_lanes

And one alone, for its area and clock: step synth benchmarks/products.py:alone --arg dynamic=True --seeds 3
With fused sums: step synth benchmarks/products.py:alone --no-place --arg inner=64 --arg lanes=64 --arg terms=16
"""

from __future__ import annotations

import numpy as np

from step import BF16, FP32, FabricConfig, Graph, Program, Tile
from step.functions import Matmul

SIZE, TILES, PRODUCTS = 64, 32, 4


def on_256_lanes() -> Program:
    """64 lanes a product, which takes 4,096 cycles."""
    return _products(256)


def on_4096_lanes() -> Program:
    """1,024 lanes a product, which takes 256 cycles: as few as its additions of four cycles allow."""
    return _products(4096)


def alone(
    rows: int = 16,
    inner: int = 16,
    cols: int = 16,
    lanes: int = 16,
    dynamic: bool = False,
    reduce: bool = False,
    link_bytes: int = 64,
    terms: int | None = None,
    transposed: bool = False,
) -> Program:
    """One product of ``rows`` rows, or of a ``dynamic`` number up to so many, of fused sums with ``terms``.

    ``reduce``: it is a reduction, over 4 tiles. ``transposed``: weights have a row for each column of the result. It
    has no data.
    """
    graph = Graph("product")
    height = graph.symbol("R", ragged=True) if dynamic else rows
    x, weights = (
        graph.source(name, tile, [8, 4])
        for name, tile in (
            ("x", Tile(BF16, height, inner)),
            ("weights", Tile(BF16, *((cols, inner) if transposed else (inner, cols)))),
        )
    )
    how = {} if terms is None else {"sum": "fused", "terms": terms}
    function = Matmul(transposed, FP32 if reduce else BF16, **how)  # type: ignore[arg-type]
    (x.accum if reduce else x.map)(function, weights, name="product").sink("y")
    return Program(graph, fabric=FabricConfig(matmul_lanes=lanes, dynamic_rows=rows, link_bytes=link_bytes))


def _products(lanes: int) -> Program:
    """``TILES`` tiles are multiplied by one weight after the other."""
    graph, random = Graph(f"products_{lanes}_lanes"), np.random.default_rng(0)
    x = graph.load(graph.tensor("x", (TILES * SIZE, SIZE), BF16), tile=(SIZE, SIZE)).flatten(0, 1)
    data = {"x": random.standard_normal((TILES * SIZE, SIZE))}
    for number in range(PRODUCTS):
        weight = graph.tensor(f"weight{number}", (SIZE, SIZE), BF16)
        data[weight.name] = random.standard_normal((SIZE, SIZE)) / 8
        weights = graph.load(weight, tile=(SIZE, SIZE), out=(1,), reference=x).flatten(0, 1)
        x = x.map(Matmul(out=BF16), weights, name=f"product{number}")
    x.store("y")
    tile_bytes = 4 * SIZE * SIZE
    fabric = FabricConfig(matmul_lanes=lanes // PRODUCTS, link_bytes=128, page_bytes=tile_bytes)
    return Program(graph, data, fabric)
