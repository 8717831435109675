"""A step of tiles with a dynamic number of rows: joined, computed with, and parted again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from step.functions.elementwise import Add, Mul
from step.functions.matmul import Matmul
from step.functions.retile import RetileCol, RetileRow, RetileStreamify
from step.functions.row import RowMax, RowSum
from step.functions.silu import Silu
from step.fuzz.draft import Growing
from step.fuzz.step import step
from step.language.dims import dim
from step.language.dtypes import BF16, BOOL
from step.language.stream import Stream
from step.language.types import Tile
from step.samples.draft import Piece
from step.samples.values import size

MOST_ROWS = 16
"""Of a tile."""


@step(8)
def join_rows(draft: Growing) -> None:
    """Tiles of as many rows as come, some without any; where there were none, an element becomes nothing."""
    if piece := draft.pick(lambda each: each.rank > 0 and each.is_tile):
        rank = draft.random.randint(1, min(2, piece.rank))
        reduced = piece.stream.shape[-rank:]
        if all(each.is_static for each in reduced) or dim(0) in reduced or (rows := _rows(piece, rank)) > MOST_ROWS:
            return
        draft.most_rows = max(draft.most_rows, rows, 1)
        tiles = draft.read(piece).accum(RetileRow(), rank=rank)
        for _ in range(draft.random.randint(0, 4)):
            tiles = draft.random.choice(CHANGES)(draft, tiles, piece, rank)
        draft.keep(tiles.flat_map(RetileStreamify(1, "row", draft.random.choice([0, 1]))), timed=piece.timed)


def _rows(piece: Piece, rank: int) -> int:
    """The most rows that a tile has."""
    element = piece.element
    assert isinstance(element, Tile)

    def most(part: Any, levels: int) -> int:
        if levels == 0:
            return size(part, rank)
        return max((most(each, levels - 1) for each in part), default=0)

    return most(piece.nested, piece.rank + 1 - rank) * int(element.rows)


def _compute(draft: Growing, tiles: Stream, piece: Piece, rank: int) -> Stream:
    """A function of scalars, also of the tile and itself."""
    tile = _tile(tiles)
    if tile.dtype.is_float and draft.chance(0.5):
        return tiles.map(Silu(out=draft.random.choice([None, BF16])))
    return tiles if tile.dtype is BOOL else tiles.map(draft.random.choice([Add, Mul])(), tiles)


def _multiply(draft: Growing, tiles: Stream, piece: Piece, rank: int) -> Stream:
    """A product by a static tile, that is a reduction of what was joined."""
    tile, element = _tile(tiles), piece.element
    assert isinstance(element, Tile)
    if not (tile.dtype is element.dtype is BF16 and tile.cols == element.cols):
        return tiles
    if tiles.shape != piece.stream.shape[:-rank]:
        return tiles
    static = draft.read(piece).accum(Add(out=BF16), rank=rank)
    return tiles.map(Matmul(out=BF16, transposed=True), static)


def _repeat(draft: Growing, tiles: Stream, piece: Piece, rank: int) -> Stream:
    """Several times the same, and their sum."""
    count = draft.random.randint(1, 3)
    return tiles if _tile(tiles).dtype is BOOL else tiles.repeat(count).accum(Add())


def _part(draft: Growing, tiles: Stream, piece: Piece, rank: int) -> Stream:
    """Columns that leave one by one, and come together again."""
    tile = _tile(tiles)
    if tile.rows.is_ragged:
        return tiles
    cols = int(tile.cols)
    chunk = draft.random.choice([each for each in range(1, cols + 1) if cols % each == 0])
    return tiles.flat_map(RetileStreamify(chunk, "col", 1)).accum(RetileCol())


def _fold(draft: Growing, tiles: Stream, piece: Piece, rank: int) -> Stream:
    """A column of what the rows become."""
    return tiles.map(draft.random.choice([RowSum, RowMax])()) if _tile(tiles).dtype.is_float else tiles


def _shape(draft: Growing, tiles: Stream, piece: Piece, rank: int) -> Stream:
    """A dimension more, and again as many as before."""
    return tiles.promote().flatten(0, 1)


def _tile(tiles: Stream) -> Tile:
    assert isinstance(tiles.element, Tile)
    return tiles.element


CHANGES: list[Callable[[Growing, Stream, Piece, int], Stream]] = [
    _compute, _compute, _multiply, _repeat, _part, _fold, _shape,
]  # fmt: skip
