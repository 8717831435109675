"""A program that its data can break: it ends well, breaks a contract, deadlocks, or runs for long."""

from __future__ import annotations

import numpy as np

from step import FP32, FabricConfig, Graph, Program, Tile
from step.functions import Add, Mul

FABRIC = FabricConfig(matmul_lanes=4, vector_lanes=4)
GOOD = {"left": [[1, 2], [3]], "right": [[1, 2], [3]], "rows": [[1, 2], [3]]}
RAGGED = {**GOOD, "right": [[1], [2, 3]]}
LONG_ROW = {**GOOD, "rows": [[1], [1, 2, 3, 4, 5, 6, 7, 8, 9]]}


def program() -> Program:
    """Products of two streams that should have the same shape, and rows scaled by their sums.

    The sum of a row is known only when all of the row has been seen; until then the row waits in the channel to
    ``scaled``, which has the default depth of 2.
    """
    graph = Graph("fragile")
    length = graph.symbol("length", ragged=True)
    left = graph.source("left", Tile(FP32), [2, length])
    right = graph.source("right", Tile(FP32), [2, length])
    left.map(Mul(), right, name="product").sink("products")

    rows = graph.source("rows", Tile(FP32), [2, graph.symbol("row", ragged=True)])
    sums = rows.accum(Add(), name="row_sum").reshape(1, name="alone")[0].expand(rows, name="spread")
    rows.map(Mul(), sums, name="scaled").sink("scaled_rows")
    return Program(graph, GOOD, FABRIC)


def expected(rows: list[list[float]]) -> list[float]:
    """What ``scaled_rows`` should hold."""
    return [float(np.float32(value) * np.float32(sum(row))) for row in rows for value in row]
