"""Steps of tiles with a dynamic number of rows; those that care for no rows are steps of other streams too."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from random import Random
from typing import Any, cast

from step.errors import TypeMismatch
from step.functions.cast import Cast
from step.functions.compare import Compare, Where
from step.functions.elementwise import Add, Max, Min, Mul
from step.functions.matmul import Matmul
from step.functions.retile import RetileCol, RetileRow, RetileStreamify
from step.functions.row import RowMax, RowSum
from step.language.dims import Dim, dim, product
from step.language.draft import HIGHEST_RANK, Piece, entries, inside
from step.language.dtypes import BF16, FLOATS, FP32, INT8, INT32, INTEGERS
from step.language.faults import rows_of, tuple_of
from step.language.function import MapFunction
from step.language.scalars import Elementwise
from step.language.stream import Stream
from step.language.types import ElementType, Selector, Tile, Tuple, with_rows
from step_check.fuzz.step import step
from step_check.samples.draft import GrowingDraft
from step_check.samples.values import random_nested, random_tile, random_value

MOST_ROWS = 16
"""Rows of a tile, at most."""

MOST_COLS = 8

NUMBERS = (*FLOATS, *INTEGERS)
"""Formats of arithmetic."""

STAND_IN = 97
"""Rows of a static tile that a function is sampled with; no other tile of a sample has so many."""

SCALARS = (Elementwise, Cast, Compare, Where, RowSum, RowMax)
"""Functions that there is hardware of for a dynamic number of rows, beside `Matmul`."""


# -- tiles that come into being -----------------------------------------------------------------------------------


@step(8)
def give_rows(draft: GrowingDraft) -> None:
    """Tiles from outside, some without rows, or all with as many, and tuples that have such ones."""
    if piece := draft.pick(lambda each: not each.timed):
        random, ragged = draft.random, draft.chance(0.6)
        rows = draft.graph.symbol(draft.name("H"), ragged=ragged)
        most = random.choice([1, 2, random.randint(1, MOST_ROWS)])
        draft.most_rows = max(draft.most_rows, most)

        def count(_: object) -> int:
            return random.choice([0, 1, most, random.randint(0, most)]) if ragged else most

        counts = inside(piece.rank + 1, count, piece.nested)
        for _ in range(random.choice([1, 1, 2])):
            element = _given(draft, rows)
            value = partial(_value, random, element)
            draft.pool.append(draft.play("rows", element, inside(piece.rank + 1, value, counts), piece.stream.shape))


def _given(draft: GrowingDraft, rows: Dim) -> Tile | Tuple:
    """An element that has tiles of so many ``rows``."""
    random = draft.random

    def tile() -> Tile:
        return Tile(random_tile(random).dtype, rows, random.randint(1, 4))

    others: list[Callable[[], ElementType]] = [tile, draft.tile, lambda: Selector(2)]
    items = [tile(), *(random.choice(others)() for _ in range(random.choice([0, 0, 0, 1, 2])))]
    random.shuffle(items)
    return Tuple(tuple(items)) if len(items) > 1 else tile()


def _value(random: Random, element: Tile | Tuple, rows: int) -> Any:
    if isinstance(element, Tile):
        return random_value(random, with_rows(element, rows))
    return tuple_of(element.items)([random_value(random, with_rows(each, rows)) for each in element.items])


@step(10)
def join_rows(draft: GrowingDraft) -> None:
    """Tiles of as many rows as come, some without any; where there were none, an element becomes nothing."""
    if piece := draft.pick(lambda each: each.rank > 0 and isinstance(each.element, Tile)):
        rank = draft.random.randint(1, min(2, piece.rank))
        reduced, rows = piece.stream.shape[-rank:], _joined(piece, rank)
        grows = piece.is_dynamic or not all(each.is_static for each in reduced)
        if grows and product(reduced) != 0 and rows <= MOST_ROWS and int(_tile(piece).cols) <= MOST_COLS:
            draft.most_rows = max(draft.most_rows, rows, 1)
            draft.keep(draft.read(piece).accum(RetileRow(), rank=rank), timed=piece.timed)


def _joined(piece: Piece, rank: int) -> int:
    """The most rows that tiles of ``rank`` dimensions have together; all have, where the order is not known."""

    def most(part: Any, levels: int) -> int:
        if levels == 0 or piece.timed:
            return sum(rows_of(each) for each in entries(levels + rank, part))
        return max((most(each, levels - 1) for each in part), default=0)

    return most(piece.nested, piece.rank + 1 - rank)


# -- what becomes of them -----------------------------------------------------------------------------------------


@step(14)
def compute(draft: GrowingDraft) -> None:
    """Any function of scalars or of rows, also with tiles of one row or column that are repeated."""
    if piece := draft.pick(_has_rows):
        stand_in = with_rows(piece.element, STAND_IN)
        classes = [each for each in draft.functions(MapFunction) if issubclass(each, SCALARS)]
        for each in draft.random.sample(classes, len(classes)):
            sample = each.sample(draft.random, stand_in, reduce=False)
            if sample is None or stand_in not in sample.elements:
                continue
            function = cast(MapFunction, sample.function)
            elements = [_standing(piece, each) for each in sample.elements]
            try:
                function.result_type(*elements)
            except TypeMismatch:
                continue
            cols = int(_tile(piece).cols)
            if isinstance(function, RowSum) and function.sum == "fused" and cols & (cols - 1):
                continue  # no words are whole rows, as those that are added at once must be
            own = elements.index(piece.element)
            found = [
                draft.read(piece) if port == own else _beside(draft, piece, each) for port, each in enumerate(elements)
            ]
            operands = [each for each in found if each is not None]
            if len(operands) == len(elements):
                first, *others = operands
                draft.keep(first.map(function, *others), timed=piece.timed)
                return


def _standing(piece: Piece, element: ElementType) -> ElementType:
    """``element`` with the rows of ``piece``, where it has those that stand for them."""
    assert isinstance(element, Tile)
    return Tile(element.dtype, _tile(piece).rows, element.cols) if element.rows == dim(STAND_IN) else element


def _beside(draft: GrowingDraft, piece: Piece, element: ElementType) -> Stream | None:
    """A stream of ``element`` in the shape of ``piece``, with its rows if they are dynamic; None: there is none."""
    tile, random = _tile(piece), draft.random
    assert isinstance(element, Tile)
    if element.is_static:
        return None if piece.timed else draft.read(draft.partner(piece, element))
    found = draft.beside(piece, element)
    if found and not piece.timed and draft.chance(0.7):
        return draft.read(random.choice(found))
    if not element.rows.is_ragged and element.rows.extent.is_Symbol and not piece.timed and draft.chance(0.7):
        nested = inside(piece.rank + 1, lambda tile: _value(random, element, len(tile)), piece.nested)
        return draft.read(draft.play("beside", element, nested, piece.stream.shape))
    derived = draft.read(piece)
    if element.cols != tile.cols:
        if tile.dtype not in (BF16, FP32, INT8, INT32):
            return None
        derived = derived.map(RowMax())
    return derived.map(Cast(element.dtype))


@step(5)
def multiply(draft: GrowingDraft) -> None:
    """A product by a static tile, or a sum of such products."""
    if piece := draft.pick(lambda each: _has_rows(each) and not each.timed and _tile(each).dtype in (BF16, INT8)):
        tile, random = _tile(piece), draft.random
        cols, transposed = random.randint(1, 4), draft.chance(0.5)
        right = Tile(tile.dtype, cols, tile.cols) if transposed else Tile(tile.dtype, tile.cols, cols)
        function = Matmul(transposed, INT32 if tile.dtype is INT8 else FP32)
        weights = draft.read(draft.partner(piece, right))
        if (rank := _alike_rows(piece)) and draft.chance(0.5):
            reduced = draft.read(piece).scan if draft.chance(0.3) else draft.read(piece).accum
            draft.keep(reduced(function, weights, rank=rank))
        else:
            if tile.dtype is BF16 and draft.chance(0.5):
                function = Matmul(transposed, BF16)
            draft.keep(draft.read(piece).map(function, weights))


@step(7)
def reduce_alike(draft: GrowingDraft) -> None:
    """A reduction of tiles with as many rows as each other, if need be of several times the same."""
    if piece := draft.pick(
        lambda each: _has_rows(each) and each.rank < HIGHEST_RANK and _tile(each).dtype in NUMBERS, factor=3
    ):
        tiles, rank = draft.read(piece), 0 if piece.timed else _alike_rows(piece)
        if not rank or draft.chance(0.3):
            tiles, rank = tiles.repeat(draft.random.randint(1, 3)), 1
        function = draft.random.choice([Add, Max, Min, Mul])()
        draft.keep((tiles.scan if draft.chance(0.3) else tiles.accum)(function, rank=rank), timed=piece.timed)


def _alike_rows(piece: Piece) -> int:
    """The number of innermost dimensions of which all tiles have as many rows as each other."""
    return int(piece.rank > 0 and all(len({*map(rows_of, part)}) <= 1 for part in entries(piece.rank, piece.nested)))


@step(6)
def split(draft: GrowingDraft) -> None:
    """Into rows, or into columns."""
    if piece := draft.pick(lambda each: _has_rows(each) and each.rank < HIGHEST_RANK - 1, factor=4):
        cols, random = int(_tile(piece).cols), draft.random
        axis, chunk = "row", 1
        if draft.chance(0.4):
            axis, chunk = "col", random.choice([each for each in range(1, cols + 1) if cols % each == 0])
        draft.keep(draft.read(piece).flat_map(RetileStreamify(chunk, axis, random.choice([0, 1]))), timed=piece.timed)


@step(5)
def join_columns(draft: GrowingDraft) -> None:
    """Tiles beside each other, where all in the stream have as many rows."""

    def fits(piece: Piece) -> bool:
        return _has_rows(piece) and piece.rank > 0 and not _tile(piece).rows.is_ragged

    if piece := draft.pick(fits):
        rank, tile = draft.random.randint(1, min(2, piece.rank)), _tile(piece)
        reduced = piece.stream.shape[-rank:]
        if all(each.is_static for each in reduced):
            cols = prod(map(int, reduced)) * int(tile.cols)
            if 0 < cols <= MOST_COLS:
                draft.keep(draft.read(piece).accum(RetileCol(), rank=rank), timed=piece.timed)


@step(3)
def repeat_along(draft: GrowingDraft) -> None:
    """Every element as often as a reference says, also not at all."""
    if piece := draft.pick(lambda each: each.is_dynamic and not each.timed and each.rank < HIGHEST_RANK, factor=2):
        element, dims = draft.tile(), [*piece.stream.shape, draft.graph.symbol(draft.name("R"), ragged=True)]
        along = inside(piece.rank + 1, lambda _: random_nested(draft.random, [None], element), piece.nested)
        reference = draft.read(draft.play("along", element, along, dims))
        one, _ = draft.read(piece).reshape(1)
        draft.keep(one.expand(reference))


@step(6)
def zip_rows(draft: GrowingDraft) -> None:
    """Tuples with tiles that have as many rows as each other, or with one of static size."""
    if piece := draft.pick(_has_rows):
        others = [_beside(draft, piece, _neighbour(draft, piece)) for _ in range(draft.random.randint(1, 2))]
        streams = [draft.read(piece), *(each for each in others if each is not None)]
        draft.random.shuffle(streams)
        if len(streams) > 1:
            first, *rest = streams
            draft.keep(first.zip(*rest), timed=piece.timed)


def _neighbour(draft: GrowingDraft, piece: Piece) -> Tile:
    """A tile to stand beside ``piece`` in a tuple."""
    tile, other = _tile(piece), draft.tile()
    return other if draft.chance(0.3) else Tile(other.dtype, tile.rows, tile.cols if draft.chance(0.5) else 1)


@step(6)
def store_filled(draft: GrowingDraft) -> None:
    """Into memory, where all have as many rows as each other."""
    if piece := draft.pick(_has_rows):
        tiles = entries(piece.rank + 1, piece.nested)
        rows = {*map(rows_of, tiles)} or {draft.random.randint(1, max(1, draft.most_rows))}
        if len(rows) > 1 or 0 in rows:
            return
        tile = with_rows(piece.element, *rows)
        assert isinstance(tile, Tile)
        if piece.timed or draft.chance(0.4):
            draft.read(piece).store(draft.name("y"), tile=tile.shape)
            return
        at = draft.numbers(piece, draft.random.sample(range(len(tiles) + 2), len(tiles)), "at")
        tensor = draft.tensor_of(tile, len(tiles) + 2)
        draft.keep(draft.read(piece).store_random(tensor, draft.read(at), tile=tile.shape))


def _has_rows(piece: Piece) -> bool:
    return piece.is_dynamic and isinstance(piece.element, Tile)


def _tile(piece: Piece) -> Tile:
    assert isinstance(piece.element, Tile)
    return piece.element
