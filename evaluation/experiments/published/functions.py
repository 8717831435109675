"""Functions of the artifact that the language has in another form, with the cycles that the artifact fixes for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from sim_published.functions import a_piece_a_cycle, cycles, kept, one, spacing
from sim_published.site import TileSize
from step.language.dims import Shape
from step.language.dtypes import BOOL, UINT32
from step.language.function import AccumFunction, CountedFunction, FlatMapFunction, Function, MapFunction, mismatch
from step.language.tokens import Token
from step.language.types import ElementType, Selector, Tile


class _NoOperations(Function):
    def flops(self, *inputs: ElementType) -> sympy.Expr:
        return sympy.Integer(0)


@dataclass(frozen=True)
class LastTile(_NoOperations, CountedFunction):
    """Selectors of ``tiles`` tiles: target 0 for the last one, else target 1 (the artifact's FilterLastTile)."""

    def result_type(self, *inputs: ElementType) -> Selector:
        if inputs != (Tile(UINT32),):
            raise mismatch(self, f"a number of tiles, a {Tile(UINT32)}", inputs)
        return Selector(2)

    def pieces(self, tiles: np.ndarray) -> int:
        return int(tiles.item())

    def piece(self, index: int, tiles: np.ndarray) -> int:
        return 1 if index == tiles.item() - 1 else 2


@dataclass(frozen=True)
class ValidRows(_NoOperations, FlatMapFunction):
    """The rows of a tile that are no padding (the artifact's RetileStreamify with a mask): ``[rows, D]`` -> [valid]."""

    rank = 0

    def result_type(self, *inputs: ElementType) -> Tile:
        match inputs:
            case (Tile() as tile,):
                return Tile(tile.dtype, 1, tile.cols)
        raise mismatch(self, "one tile", inputs)

    def result_shape(self, *inputs: ElementType) -> Shape:
        self.result_type(*inputs)
        (tile,) = inputs
        assert isinstance(tile, Tile)
        return (tile.rows,)

    def expand(self, *values: Any) -> Iterator[Token]:
        raise NotImplementedError("which rows are valid is not a value of the language")


@kept.register
def valid_rows(function: ValidRows, pieces: int, size: TileSize) -> int:
    """Rows without padding."""
    return size.valid


@dataclass(frozen=True)
class SetOffset(_NoOperations, MapFunction):
    """``(tile, rows)``: the tile, of which so many rows are valid; as its values are, so the tile itself."""

    def result_type(self, *inputs: ElementType) -> Tile:
        match inputs:
            case (Tile() as tile, rows) if rows == Tile(UINT32):
                return tile
        raise mismatch(self, f"a tile and a {Tile(UINT32)}", inputs)

    def apply(self, tile: Any, rows: np.ndarray) -> Any:
        return tile


@dataclass(frozen=True)
class RowWiseAppend(_NoOperations, MapFunction):
    """``(tile, row)``: the tile with a row behind those that are valid. Timed only: which these are is not known."""

    def result_type(self, *inputs: ElementType) -> Tile:
        match inputs:
            case (Tile() as tile, Tile() as row) if (tile.cols, tile.dtype) == (row.cols, row.dtype):
                return tile
        raise mismatch(self, "a tile and a row of it", inputs)

    def apply(self, tile: Any, row: Any) -> Any:
        raise NotImplementedError("how many rows are valid is not a value of the language")


@dataclass(frozen=True)
class SignalReqAllRead(_NoOperations, AccumFunction):
    """A flag when all of a reduction has come: a region is free."""

    def state_type(self, reduced: Shape, *inputs: ElementType) -> Tile:
        return Tile(BOOL)

    def initial(self, state: ElementType) -> np.ndarray:
        return np.ones((1, 1), np.bool_)

    def update(self, state: Any, *values: Any) -> Any:
        return state


for each in (SetOffset, RowWiseAppend, SignalReqAllRead):
    cycles.register(each, one)
spacing.register(LastTile, a_piece_a_cycle)
