"""Functions that replace some rows or columns of a tile, and leave the others as they are, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np

from step.errors import TypeMismatch, expect
from step.language.dtypes import UINT32, DType, dtype_of
from step.language.expecting import expect_element
from step.language.function import NUMBER, TILES, MapFunction, Sample, below, mismatch
from step.language.types import ElementType, Tile


class _Row(MapFunction):
    """A function of a tile, a 1x1 tile of UINT32, and a row that goes into the tile."""

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        tile = expect_element(element, Tile, TILES)
        row = Tile(tile.dtype, 1, tile.cols)
        return Sample(cls(), (tile, NUMBER, row), {1: below(int(tile.rows))})

    def result_type(self, *inputs: ElementType) -> Tile:
        match inputs:
            case (Tile() as tile, index, Tile() as row) if index == Tile(UINT32):
                if tile.is_static and row == Tile(tile.dtype, 1, tile.cols):
                    return tile
        raise mismatch(self, f"a static [rows, cols] tile, a {Tile(UINT32)}, and a row of that tile", inputs)


class SetRow(_Row):
    """Tile with another row in the place of row number ``index``: operands are ``(tile, index, row)``.

    ``tile`` is a static ``[rows, cols]`` of any format, ``index`` a tile of one UINT32, ``row`` ``[1, cols]``. No
    FLOPs. An index that is not below the number of rows is a fault.

    >>> graph = Graph()
    >>> tile, index = graph.source("tile", Tile(INT8, 2, 2), [1]), graph.source("index", Tile(UINT32), [1])
    >>> tile.map(SetRow(), index, graph.source("row", Tile(INT8, 1, 2), [1])).sink("y")
    >>> run = step.run(graph, "interpret", inputs={"tile": [[[1, 2], [3, 4]]], "index": [1], "row": [[[8, 9]]]})
    >>> run.outputs["y"].numpy().tolist()
    [[[1, 2], [8, 9]]]
    """

    indices = (1,)

    def out_of_range(self) -> str:
        return "the index of a row is not below the number of rows"

    def bound(self, port: int, *inputs: ElementType) -> int:
        return int(self.result_type(*inputs).rows)

    def apply(self, tile: np.ndarray, index: np.ndarray, row: np.ndarray) -> np.ndarray:
        result = tile.copy()
        result[int(index.item())] = row
        return result


class AppendRow(_Row):
    """Tile with a row behind what is valid of it, and zeros behind that: operands are ``(tile, length, row)``.

    ``tile``, a static ``[rows, cols]`` of any format with a power of two of rows, is the last one of a sequence, such
    as a KV cache, or the next one, where all others are full. The sequence has ``length`` rows, a tile of one UINT32,
    so ``row`` ``[1, cols]`` goes to row ``length`` mod rows. No FLOPs.

    >>> graph = Graph()
    >>> tile, length = graph.source("tile", Tile(INT8, 4, 1), [1]), graph.source("length", Tile(UINT32), [1])
    >>> tile.map(AppendRow(), length, graph.source("row", Tile(INT8), [1])).sink("y")
    >>> run = step.run(graph, "interpret", inputs={"tile": [[[1], [2], [7], [7]]], "length": [6], "row": [3]})
    >>> run.outputs["y"].numpy().ravel().tolist()
    [1, 2, 3, 0]
    """

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        return super().sample(random, element, reduce=reduce)._replace(values={1: below(6)})

    def result_type(self, *inputs: ElementType) -> Tile:
        tile = super().result_type(*inputs)
        if (rows := int(tile.rows)) & (rows - 1) or not rows:
            raise mismatch(self, "a tile with a power of two of rows", inputs)
        return tile

    def apply(self, tile: np.ndarray, length: np.ndarray, row: np.ndarray) -> np.ndarray:
        at = int(length.item()) % len(tile)
        return np.concatenate([tile[:at], row, np.zeros_like(tile[at + 1 :])])


@dataclass(frozen=True)
class FilterLastTile(MapFunction):
    """Tile with ``pad`` in all rows (or columns) but the first ``count``: operands are ``(tile, count)``.

    ``tile`` is ``[rows, cols]`` of any format, ``count`` a tile of one UINT32; one above the extent leaves the tile as
    it is. No FLOPs.

    ``pad``: a number that the format has.
    ``axis``: "row", or "col" for columns; ``axis="col"`` and ``pad=-inf`` are for scores of attention.

    >>> graph = Graph()
    >>> tile, count = graph.source("tile", Tile(FP32, 1, 3), [1]), graph.source("count", Tile(UINT32), [1])
    >>> tile.map(FilterLastTile(-np.inf, axis="col"), count).sink("y")
    >>> step.run(graph, "interpret", inputs={"tile": [[[1, 2, 3]]], "count": [2]}).outputs["y"].numpy().tolist()
    [[[1.0, 2.0, -inf]]]
    """

    pad: float = 0.0
    axis: str = "row"

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        axis = random.choice(["row", "col"])
        return Sample(cls(random.choice([0.0, 1.0]), axis), (element, NUMBER), {1: below(6)})

    def result_type(self, *inputs: ElementType) -> Tile:
        expect(self.axis in ("row", "col"), f'filter_last_tile needs axis to be "row" or "col", not {self.axis!r}')
        match inputs:
            case (Tile() as tile, count) if count == Tile(UINT32):
                padding(self, tile.dtype, self.pad)
                return tile
        raise mismatch(self, f"a tile, and a {Tile(UINT32)} that counts what is valid of it", inputs)

    def apply(self, tile: np.ndarray, count: np.ndarray) -> np.ndarray:
        result, valid = tile.copy(), int(count.item())
        (result if self.axis == "row" else result.T)[valid:] = self.pad
        return result


@dataclass(frozen=True)
class CausalMask(MapFunction):
    """Scores of attention with ``pad`` where the key comes after the query: operands are ``(scores, query, key)``.

    ``scores`` is ``[queries, keys]``, rows and columns one after the other; ``query`` and ``key``, tiles of one UINT32,
    are the positions of the first ones. So ``pad`` goes to row r and column c where ``key + c > query + r``. No FLOPs.

    ``pad``: a number that the format has, by default -infinity.

    >>> graph = Graph()
    >>> query, key = (graph.source(name, Tile(UINT32), [1]) for name in ("query", "key"))
    >>> graph.source("scores", Tile(FP32, 2, 2), [1]).map(CausalMask(), query, key).sink("y")
    >>> run = step.run(graph, "interpret", inputs={"scores": [[[1, 2], [3, 4]]], "query": [7], "key": [7]})
    >>> run.outputs["y"].numpy().tolist()
    [[[1.0, -inf], [3.0, 4.0]]]
    """

    pad: float = float("-inf")

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        return Sample(cls(random.choice([0.0, 1.0])), (element, NUMBER, NUMBER), {1: below(9), 2: below(9)})

    def result_type(self, *inputs: ElementType) -> Tile:
        match inputs:
            case (Tile() as tile, query, key) if query == key == NUMBER and tile.cols.is_static:
                padding(self, tile.dtype, self.pad)
                return tile
        wanted = f"a tile with a fixed number of columns, and the positions of its first row and column, two {NUMBER}"
        raise mismatch(self, wanted, inputs)

    def apply(self, tile: np.ndarray, query: np.ndarray, key: np.ndarray) -> np.ndarray:
        rows, cols = (np.arange(each) for each in tile.shape)
        behind = int(key.item()) + cols > int(query.item()) + rows[:, None]
        return np.where(behind, padding(self, dtype_of(tile), self.pad), tile)


def padding(function: MapFunction, dtype: DType, pad: float) -> np.ndarray:
    """``pad`` as a tile of one scalar; raises `TypeMismatch` where ``dtype`` does not have it."""
    with np.errstate(all="ignore"):
        tile = np.full((1, 1), pad).astype(dtype.numpy)
        found = float(tile.astype(np.float64).item())
    if found == pad or (dtype.is_float and np.isfinite(found) == np.isfinite(pad)):
        return tile
    raise TypeMismatch(f"{function.name} needs pad to be a number that {dtype} has, not {pad!r}")
