"""Functions that join tiles, or split them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import numpy as np

from step.errors import expect
from step.language.dims import Dim, Shape, dim, product
from step.language.expecting import expect_element
from step.language.function import TILES, AccumFunction, FlatMapFunction, Sample, mismatch, one_tile
from step.language.parameters import Count
from step.language.tokens import Token, from_nested
from step.language.types import ElementType, Tile


def _joined(reduced: Shape, extent: Dim) -> Dim:
    """Extent of all tiles of a reduction side by side."""
    dims = (*reduced, extent)
    return Dim(product(dims), max(each.kind for each in dims))


class RetileRow(AccumFunction):
    """Tiles of a reduction one below the other, in their order: ``[rows, cols]`` becomes ``[n * rows, cols]``.

    Operands are of any format, with a fixed number of columns. Where the number of tiles is dynamic, so is the result;
    a reduction of no tiles gives a tile without rows. No FLOPs.

    >>> graph = Graph()
    >>> graph.source("x", Tile(INT8, 1, 2), [1, 3]).accum(RetileRow()).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [[[[1, 2]], [[3, 4]], [[5, 6]]]]}).outputs["y"].numpy().tolist()
    [[[1, 2], [3, 4], [5, 6]]]
    """

    def state_type(self, reduced: Shape, *inputs: ElementType) -> Tile:
        tile = one_tile(self, inputs, "one tile")
        if not tile.cols.is_static:
            raise mismatch(self, "a tile with a fixed number of columns", inputs)
        return Tile(tile.dtype, _joined(reduced, tile.rows), tile.cols)

    def initial(self, state: Tile) -> np.ndarray:
        return np.empty((0, int(state.cols)), state.dtype.numpy)

    def update(self, state: np.ndarray, value: np.ndarray) -> np.ndarray:
        return np.concatenate([state, value])


class RetileCol(AccumFunction):
    """Tiles of a reduction side by side, in their order: ``[rows, cols]`` becomes ``[rows, n * cols]``.

    Operands are of any format, and have the same number of rows, or else it is a fault. Where the number of tiles is
    dynamic, so is the result; a reduction of no tiles gives a tile without columns. No FLOPs.

    >>> graph = Graph()
    >>> graph.source("x", Tile(INT8, 1, 2), [1, 3]).accum(RetileCol()).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [[[[1, 2]], [[3, 4]], [[5, 6]]]]}).outputs["y"].numpy().tolist()
    [[[1, 2, 3, 4, 5, 6]]]
    """

    def state_type(self, reduced: Shape, *inputs: ElementType) -> Tile:
        tile = one_tile(self, inputs, "one tile")
        return Tile(tile.dtype, tile.rows, _joined(reduced, tile.cols))

    def initial(self, state: Tile) -> np.ndarray:
        return np.empty((int(state.rows) if state.rows.is_static else 0, 0), state.dtype.numpy)

    def update(self, state: np.ndarray, value: np.ndarray) -> np.ndarray:
        return np.concatenate([state, value], axis=1) if state.shape[1] else value


@dataclass(frozen=True)
class RetileStreamify(FlatMapFunction):
    """Pieces of a tile, in their order: a function of FlatMap that splits a tile of any format.

    ``chunk``: rows (or columns) of a piece, which must divide the extent; with 1 the number of rows may be dynamic.
    ``axis``: "row", or "col" to split columns.
    ``rank``: 0 for a stream of shape [n] of n pieces, 1 for [1, n]. A tile without rows becomes no element at all,
    which with ``rank`` 1 is an empty row.

    No FLOPs. Raises `TypeMismatch` for a chunk that does not divide the extent.

    >>> graph = Graph()
    >>> graph.source("x", Tile(INT8, 1, 4), [1]).flat_map(RetileStreamify(2, "col")).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [[[1, 2, 3, 4]]]}).outputs["y"].numpy().tolist()
    [[[1, 2]], [[3, 4]]]
    """

    chunk: Count = 1
    axis: str = "row"
    rank: int = 0

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        tile = expect_element(element, Tile, TILES)
        axis, rank = random.choice(["row", "col"]), random.choice([0, 1])
        extent = int(tile.shape[axis == "col"])
        chunk = random.choice([each for each in range(1, extent + 1) if extent % each == 0])
        return Sample(cls(chunk, axis, rank), (tile,))

    def _split(self, inputs: tuple[ElementType, ...]) -> tuple[Tile, Dim]:
        """Type of the pieces, and their number."""
        tile = one_tile(self, inputs, "one tile")
        expect(self.axis in ("row", "col"), f'retile_streamify needs axis to be "row" or "col", not {self.axis!r}')
        expect(self.rank in (0, 1), f"retile_streamify needs rank to be 0 or 1, not {self.rank!r}")
        rows, cols = tile.rows, tile.cols
        extent = rows if self.axis == "row" else cols
        if not extent.is_static and (self.axis != "row" or self.chunk != 1):
            raise mismatch(self, f"a fixed number of {self.axis}s to split into chunks of {self.chunk}", inputs)
        if extent.is_static and (int(extent) == 0 or int(extent) % self.chunk):
            raise mismatch(self, f"a number of {self.axis}s that chunk {self.chunk} divides", inputs)
        if self.axis == "row":
            return Tile(tile.dtype, self.chunk, cols), rows if self.chunk == 1 else dim(int(rows) // self.chunk)
        return Tile(tile.dtype, rows, self.chunk), dim(int(cols) // self.chunk)

    def result_type(self, *inputs: ElementType) -> Tile:
        return self._split(inputs)[0]

    def result_shape(self, *inputs: ElementType) -> Shape:
        _, pieces = self._split(inputs)
        return (pieces,) if self.rank == 0 else (dim(1), pieces)

    def expand(self, *values: np.ndarray) -> Iterator[Token]:
        (value,) = values
        axis = int(self.axis == "col")
        extent = value.shape[axis]
        pieces = np.split(value, range(self.chunk, extent, self.chunk), axis) if extent else []
        yield from from_nested([pieces] if self.rank else pieces, self.rank)[:-1]
