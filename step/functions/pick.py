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
    """The halves ``[x1, x2]`` of every row as ``[-x2, x1]``, for rotary embeddings. No FLOPs.

    Of the numbers that are negated the sign is inverted; all other bits stay as they are.
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
    """Column ``index`` of a tile of any format: ``[rows, cols]`` becomes ``[rows, 1]``, bit for bit. No FLOPs."""

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
