"""Functions that give scalars of a tile other columns."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np

from step.errors import TypeMismatch
from step.language.dtypes import FLOATS
from step.language.function import MapFunction, Sample, one_tile
from step.language.types import ElementType, Tile


class RotateHalf(MapFunction):
    """Rows with their halves turned for rotary embeddings: ``[x1, x2]`` becomes ``[-x2, x1]``.

    The operand is a tile ``[rows, cols]`` of BF16 or FP32 with an even number of columns. Numbers that are negated get
    the other sign; all other bits stay as they are. No FLOPs.

    >>> graph = Graph()
    >>> graph.source("x", Tile(FP32, 1, 4), [1]).map(RotateHalf()).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [[[1, 2, 3, 4]]]}).outputs["y"].numpy().tolist()
    [[[-3.0, -4.0, 1.0, 2.0]]]
    """

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        if isinstance(element, Tile) and element.dtype in FLOATS and element.cols.is_static and int(element.cols) % 2:
            element = Tile(element.dtype, element.rows, 2 * int(element.cols))
        return Sample(cls(), (element,))

    def result_type(self, *inputs: ElementType) -> Tile:
        def fits(tile: Tile) -> bool:
            return tile.dtype in FLOATS and tile.cols.is_static and int(tile.cols) % 2 == 0

        return one_tile(self, inputs, "1 tile of BF16 or FP32 with an even number of columns", fits)

    def apply(self, value: np.ndarray) -> np.ndarray:
        half, bits = value.shape[1] // 2, 8 * value.itemsize
        signs = value[:, half:].view(f"u{value.itemsize}") ^ (1 << bits - 1)
        return np.concatenate([signs.view(value.dtype), value[:, :half]], axis=1)


@dataclass(frozen=True)
class Column(MapFunction):
    """Column ``index`` of a tile of any format: ``[rows, cols]`` becomes ``[rows, 1]``, bit for bit.

    ``index``: 0 to cols - 1; else `TypeMismatch`. No FLOPs.

    >>> graph = Graph()
    >>> graph.source("x", Tile(INT8, 2, 3), [1]).map(Column(2)).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [[[1, 2, 3], [4, 5, 6]]]}).outputs["y"].numpy().tolist()
    [[[3], [6]]]
    """

    index: int

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        static = isinstance(element, Tile) and element.cols.is_static
        return Sample(cls(random.randrange(int(element.cols)) if static else 0), (element,))  # type: ignore[union-attr]

    def result_type(self, *inputs: ElementType) -> Tile:
        tile = one_tile(self, inputs, "1 tile with a fixed number of columns", lambda tile: tile.cols.is_static)
        if 0 <= self.index < int(tile.cols):
            return Tile(tile.dtype, tile.rows, 1)
        last = int(tile.cols) - 1
        raise TypeMismatch(f"column needs index to be 0 to {last}, a column of {tile}, not {self.index}")

    def apply(self, value: np.ndarray) -> np.ndarray:
        return value[:, self.index : self.index + 1].copy()
