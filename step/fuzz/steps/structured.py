"""Steps with functions of rows, tiles and addresses."""

from __future__ import annotations

import numpy as np

from step.functions.cache import CacheEnd, CacheRows, CacheTiles, ExpertTiles
from step.functions.edit import AppendRow, FilterLastTile, SetRow
from step.functions.matmul import Matmul
from step.functions.row import RowMax, RowSum
from step.functions.select import TopK
from step.functions.transpose import Transpose
from step.fuzz.draft import HIGHEST_RANK, Draft, Piece
from step.fuzz.nested import inside
from step.fuzz.step import LARGEST_TILE, partner, step
from step.fuzz.values import random_value
from step.language.dtypes import BF16, FP32, INT8, INT32, UINT32
from step.language.function import MapFunction
from step.language.types import ElementType, Tile

ADDRESS = Tile(UINT32)


def is_number(piece: Piece) -> bool:
    """Whether it carries tiles that rows can be summed of."""
    return isinstance(piece.element, Tile) and piece.element.dtype in (BF16, FP32, INT8, INT32)


def numbers(draft: Draft, piece: Piece, most: int) -> Piece:
    """Numbers up to ``most`` in the shape of ``piece``."""

    def number(_: object) -> np.ndarray:
        return np.array([[draft.random.randint(0, most)]], np.uint32)

    return draft.play("number", ADDRESS, inside(piece.rank + 1, number, piece.nested), piece.stream.shape)


@step(3)
def map_tile(draft: Draft) -> None:
    """A function of a whole tile."""
    if piece := draft.pick(lambda each: isinstance(each.element, Tile)):
        functions: list[MapFunction] = [Transpose()]
        if is_number(piece):
            assert isinstance(piece.element, Tile)
            functions = [Transpose(), RowMax(), RowSum(), RowSum(BF16 if piece.is_float else INT32)]
            if piece.element.shape[0] == 1:
                functions.append(TopK(draft.random.randint(1, piece.element.shape[1])))
        draft.keep(draft.read(piece).map(draft.random.choice(functions)), timed=piece.timed)


@step(2)
def edit(draft: Draft) -> None:
    """Rows or columns of a tile replaced."""
    if piece := draft.pick(lambda each: isinstance(each.element, Tile) and not each.timed):
        tile = piece.element
        assert isinstance(tile, Tile)
        rows, cols = tile.shape
        function = draft.random.choice(
            [SetRow(), AppendRow(), FilterLastTile(1.0, draft.random.choice(["row", "col"]))]
        )
        if isinstance(function, AppendRow) and rows & (rows - 1):
            return
        most = rows - 1 if isinstance(function, SetRow) else 5
        others = [draft.read(numbers(draft, piece, most))]
        if not isinstance(function, FilterLastTile):
            row = Tile(tile.dtype, 1, cols)
            nested = inside(piece.rank + 1, lambda _: random_value(draft.random, row), piece.nested)
            others.append(draft.read(draft.play("row", row, nested, piece.stream.shape)))
        draft.keep(draft.read(piece).map(function, *others))


@step(2)
def matmul_of_integers(draft: Draft) -> None:
    """Products of INT8 in INT32."""

    def fits(piece: Piece) -> bool:
        return isinstance(piece.element, Tile) and piece.element.dtype is INT8 and not piece.timed

    if piece := draft.pick(fits):
        assert isinstance(piece.element, Tile)
        rows, inner = piece.element.shape
        cols, transposed = draft.random.randint(1, LARGEST_TILE // max(rows, inner)), draft.chance(0.5)
        wanted: ElementType = Tile(INT8, cols, inner) if transposed else Tile(INT8, inner, cols)
        left, right = draft.read(piece), draft.read(partner(draft, piece, wanted))
        product = Matmul(transposed, INT32)
        draft.keep(left.accum(product, right) if piece.rank and draft.chance(0.5) else left.map(product, right))


@step(2)
def experts(draft: Draft) -> None:
    """Scores choose an expert, whose tiles have addresses."""

    def fits(piece: Piece) -> bool:
        return is_number(piece) and piece.element.shape[0] == 1 and piece.rank < HIGHEST_RANK  # type: ignore[union-attr]

    tiles = draft.random.randint(1, 3)
    if piece := draft.pick(fits, factor=tiles):
        assert isinstance(piece.element, Tile)
        count = piece.element.shape[1]
        if piece.timed or draft.chance(0.5):
            chosen = draft.read(piece).map(TopK(1))
        else:
            chosen = draft.read(numbers(draft, piece, count - 1))
        draft.keep(chosen.flat_map(ExpertTiles(count, tiles, draft.random.randint(0, 99))), timed=piece.timed)


@step(2)
def cache(draft: Draft) -> None:
    """Addresses and valid rows of requests with lengths."""
    if piece := draft.pick(lambda each: not each.timed and each.rank < HIGHEST_RANK, factor=3):
        rows, requests = draft.random.choice([1, 2, 3, 4]), draft.random.randint(1, 3)
        request, length = numbers(draft, piece, requests - 1), numbers(draft, piece, 3 * rows)
        if draft.chance(0.7):
            tiles = CacheTiles(requests, 3, rows, draft.random.randint(0, 99))
            draft.keep(draft.read(request).flat_map(tiles, draft.read(length)))
        if draft.chance(0.5):
            draft.keep(draft.read(length).flat_map(CacheRows(rows)))
        if rows != 3 and draft.chance(0.3):
            draft.keep(draft.read(request).map(CacheEnd(requests, 4, rows), draft.read(length)))
