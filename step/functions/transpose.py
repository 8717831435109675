"""Rows for columns."""

from __future__ import annotations

import numpy as np

from step.language.function import MapFunction, one_tile
from step.language.types import ElementType, Tile


class Transpose(MapFunction):
    """Tile with rows for columns: ``[rows, cols]`` of any format becomes ``[cols, rows]``, bit for bit.

    No FLOPs.

    >>> graph = Graph()
    >>> graph.source("x", Tile(INT8, 2, 3), [1]).map(Transpose()).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [[[1, 2, 3], [4, 5, 6]]]}).outputs["y"].numpy().tolist()
    [[[1, 4], [2, 5], [3, 6]]]
    """

    def result_type(self, *inputs: ElementType) -> Tile:
        tile = one_tile(self, inputs, "one tile")
        return Tile(tile.dtype, tile.cols, tile.rows)

    def apply(self, value: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(value.T)
