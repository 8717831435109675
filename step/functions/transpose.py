"""Rows for columns."""

from __future__ import annotations

import numpy as np

from step.language.function import MapFunction, one_tile
from step.language.types import ElementType, Tile


class Transpose(MapFunction):
    """A tile with rows for columns: ``[rows, cols]`` becomes ``[cols, rows]``, bit for bit. No FLOPs."""

    def result_type(self, *inputs: ElementType) -> Tile:
        tile = one_tile(self, inputs, "one tile")
        return Tile(tile.dtype, tile.cols, tile.rows)

    def apply(self, value: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(value.T)
