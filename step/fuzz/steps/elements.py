"""Steps that make elements, and functions of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from step.functions.cast import Cast
from step.functions.compare import RELATIONS, Compare, Where
from step.functions.counting import CountFrom
from step.functions.elementwise import Add, Max, Min, Mul, MulAdd, Scale, Sub
from step.functions.exp import Exp
from step.functions.gelu import Gelu
from step.functions.matmul import Matmul
from step.functions.reciprocal import Div, Reciprocal
from step.functions.retile import RetileCol, RetileRow, RetileStreamify
from step.functions.rsqrt import Rsqrt
from step.functions.select import SelectAll, SelectValid
from step.functions.silu import Silu
from step.fuzz.draft import HIGHEST_RANK, Draft, Piece
from step.fuzz.nested import inside
from step.fuzz.step import LARGEST_TILE, WIDEST, is_bf16, is_integer, partner, scalars, step
from step.fuzz.values import random_tile, random_value
from step.language.dims import dim
from step.language.dtypes import BF16, BOOL, DTYPES, FLOATS, FP32, INT8, INT32, INTEGERS, UINT32, DType
from step.language.function import MapFunction
from step.language.types import ElementType, Selector, Tile, Tuple


@step(3)
def source(draft: Draft) -> None:
    """One more input."""
    draft.pool.append(draft.source())


def constants(draft: Draft, element: ElementType, count: int) -> list[Any]:
    """Values of ``element`` that stand in the program itself."""

    def constant() -> Any:
        value = random_value(draft.random, element)
        return value if isinstance(value, int) else tuple(map(tuple, (value * 1).tolist()))

    return [constant() for _ in range(count)]


@step(3)
def generate(draft: Draft) -> None:
    """A stream that is no input: integers or constants, for every element of a stream, or by themselves."""
    reference = draft.pick(lambda each: each.rank < HIGHEST_RANK - 1, factor=3) if draft.chance(0.6) else None
    extents = [draft.random.randint(1, 3) for _ in range(draft.random.randint(0 if reference else 1, 2))]
    read = None if reference is None else draft.read(reference)
    if draft.chance(0.3):
        tile, start = Tile(draft.random.choice([INT8, INT32])), draft.random.randint(-9, 9)
        integers = range(start, start + draft.random.choice([-3, 1, 4]) * draft.random.randint(1, 7), 1)
        if not integers:
            integers = range(start, start - 20, -7)
        stream = draft.graph.generate(tile, integers, extents, reference=read)
    else:
        element = random_tile(draft.random) if draft.chance(0.6) else Selector(draft.random.randint(1, 3))
        rank = len(extents) - 1 if reference is None else reference.rank + len(extents)
        counts = [draft.random.randint(1, 4), *(draft.random.randint(0, 2) * (rank == 0) for _ in range(2))]
        values, before, behind = (constants(draft, element, count) for count in counts)
        stream = draft.graph.generate(element, values, extents, before=before, behind=behind, reference=read)
    draft.keep(stream, timed=reference is not None and reference.timed)


@step(6)
def item_of(draft: Draft) -> None:
    """One item of a tuple."""
    if piece := draft.pick(lambda each: isinstance(each.element, Tuple)):
        assert isinstance(piece.element, Tuple)
        draft.keep(draft.read(piece)[draft.random.randrange(len(piece.element.items))], timed=piece.timed)


@step(3)
def map_one(draft: Draft) -> None:
    """A function of one operand."""
    if piece := draft.pick():
        functions: list[MapFunction] = [SelectAll(draft.random.randint(1, 3))]
        if piece.is_float:
            functions = [
                Silu(),
                Gelu(),
                Exp(),
                Reciprocal(),
                Rsqrt(),
                Scale(-0.3),
                Cast(BF16),
                Cast(FP32),
                any_cast(draft),
            ]
        elif piece.element == Tile(BOOL):
            functions = [SelectValid(), any_cast(draft)]
        elif is_integer(piece):
            functions = [Scale(draft.random.randint(0, 100)), any_cast(draft)]
        elif draft.chance(0.6):
            return
        draft.keep(draft.read(piece).map(draft.random.choice(functions)), timed=piece.timed)


def any_cast(draft: Draft) -> Cast:
    """To any format, though mostly to one that is computed with."""
    return Cast(draft.random.choice([*DTYPES.values(), BF16, FP32]))


def operand(draft: Draft, piece: Piece, dtypes: Sequence[DType]) -> Piece:
    """Another operand of a function of scalars, of ``dtypes``, maybe one that is repeated."""
    tile = piece.element
    assert isinstance(tile, Tile)
    wanted: ElementType = tile
    if not piece.timed and (tile.dtype not in dtypes or draft.chance(0.5)):
        dtype = draft.random.choice(dtypes)
        wanted = Tile(dtype, draft.random.choice([tile.rows, dim(1)]), draft.random.choice([tile.cols, dim(1)]))
    return partner(draft, piece, wanted)


@step(5)
def map_two(draft: Draft) -> None:
    """A function of two operands of scalars, one of them perhaps repeated."""
    if piece := draft.pick(lambda each: each.is_float or is_integer(each)):
        assert isinstance(piece.element, Tile)
        formats = FLOATS if piece.is_float else [piece.element.dtype]
        other = operand(draft, piece, formats)
        out = draft.random.choice([None, *(FLOATS if piece.is_float else INTEGERS)])
        functions: list[MapFunction] = [Add(out), Mul(out), Sub(out), Max(out), Min(out), relation(draft)]
        function = draft.random.choice([*functions, Div(out)] if piece.is_float else functions)
        draft.keep(draft.read(piece).map(function, draft.read(other)), timed=piece.timed)


def relation(draft: Draft) -> Compare:
    """Any comparison."""
    return Compare(draft.random.choice([*RELATIONS]))


@step(3)
def map_three(draft: Draft) -> None:
    """A product and a sum, or a choice."""
    if piece := draft.pick(lambda each: isinstance(each.element, Tile)):
        assert isinstance(piece.element, Tile)
        if (piece.is_float or is_integer(piece)) and draft.chance(0.5):
            formats = FLOATS if piece.is_float else [piece.element.dtype]
            others = [operand(draft, piece, formats) for _ in range(2)]
            made = draft.read(piece).map(MulAdd(), *map(draft.read, others))
        else:
            other = operand(draft, piece, [piece.element.dtype])
            made = draft.read(piece).map(relation(draft), draft.read(other))
            made = made.map(Where(), draft.read(piece), draft.read(other))
        draft.keep(made, timed=piece.timed)


def matmul_partner(draft: Draft, piece: Piece) -> tuple[Piece, bool]:
    """The second operand of a product, and whether it is transposed."""
    assert isinstance(piece.element, Tile)
    rows, inner = piece.element.shape
    if piece.timed:
        return piece, True
    cols, transposed = draft.random.randint(1, LARGEST_TILE // max(rows, inner)), draft.chance(0.5)
    return partner(draft, piece, Tile(BF16, cols, inner) if transposed else Tile(BF16, inner, cols)), transposed


@step(2)
def map_matmul(draft: Draft) -> None:
    """A product of matrices for every element."""
    if piece := draft.pick(is_bf16):
        other, transposed = matmul_partner(draft, piece)
        function = Matmul(transposed, draft.random.choice([BF16, FP32]))
        draft.keep(draft.read(piece).map(function, draft.read(other)), timed=piece.timed)


@step(2)
def zip_some(draft: Draft) -> None:
    """Streams side by side."""
    if piece := draft.pick():
        others = [partner(draft, piece) for _ in range(draft.random.randint(1, 2))]
        if sum(each.element.bits for each in [piece, *others]) <= WIDEST:
            draft.keep(draft.read(piece).zip(*map(draft.read, others)), timed=piece.timed)


@step(6)
def accum(draft: Draft) -> None:
    """A reduction of the innermost dimensions."""
    if piece := draft.pick(lambda each: each.rank > 0 and (each.is_float or is_integer(each))):
        rank = draft.random.randint(1, piece.rank)
        formats: Sequence[DType] = FLOATS if piece.is_float else INTEGERS
        if is_bf16(piece) and draft.chance(0.4):
            other, transposed = matmul_partner(draft, piece)
            total = draft.read(piece).accum(Matmul(transposed), draft.read(other), rank=rank)
        elif draft.chance(0.2):
            assert isinstance(piece.element, Tile)
            other = operand(draft, piece, FLOATS if piece.is_float else [piece.element.dtype])
            total = draft.read(other).accum(MulAdd(), draft.read(piece), rank=rank)
        else:
            function = draft.random.choice([Add, Mul, Max, Min])(draft.random.choice([None, *formats]))
            total = draft.read(piece).accum(function, rank=rank)
        draft.keep(total, timed=piece.timed)


@step(3)
def scan(draft: Draft) -> None:
    """All states of a reduction."""
    if piece := draft.pick(lambda each: each.rank > 0 and each.is_float):
        rank, exclusive = draft.random.randint(1, piece.rank), draft.chance(0.5)
        if is_bf16(piece) and draft.chance(0.3):
            other, transposed = matmul_partner(draft, piece)
            states = draft.read(piece).scan(Matmul(transposed), draft.read(other), rank=rank, exclusive=exclusive)
        else:
            function = draft.random.choice([Add(), Mul(), Add(BF16), Mul(BF16)])
            states = draft.read(piece).scan(function, rank=rank, exclusive=exclusive)
        draft.keep(states, timed=piece.timed)


@step(2)
def accum_retile(draft: Draft) -> None:
    """Tiles joined to a larger one."""

    def tiles(piece: Piece, rank: int) -> int:
        """How many tiles a reduction joins; 0 where nobody knows, or where there are none."""
        dims = piece.stream.shape[-rank:]
        if rank > piece.rank or not all(each.is_static for each in dims):
            return 0
        return prod(int(each) for each in dims)

    def fits(piece: Piece, rank: int) -> bool:
        return isinstance(piece.element, Tile) and 0 < tiles(piece, rank) * scalars(piece.element) <= LARGEST_TILE

    rank = draft.random.choice([1, 1, 2])
    if piece := draft.pick(lambda each: fits(each, rank)):
        function = draft.random.choice([RetileRow(), RetileCol()])
        draft.keep(draft.read(piece).accum(function, rank=rank), timed=piece.timed)


@step(4)
def flat_map(draft: Draft) -> None:
    """A tile cut into several."""
    rank, axis = draft.random.choice([0, 1]), draft.random.choice(["row", "col"])
    if piece := draft.pick(lambda each: isinstance(each.element, Tile) and each.rank + rank <= HIGHEST_RANK, factor=4):
        assert isinstance(piece.element, Tile)
        extent = int(piece.element.shape[axis == "col"])
        chunk = draft.random.choice([each for each in range(1, extent + 1) if extent % each == 0])
        draft.keep(draft.read(piece).flat_map(RetileStreamify(chunk, axis, rank)), timed=piece.timed)


@step(3)
def count(draft: Draft) -> None:
    """Numbers, as many as other numbers say."""
    if piece := draft.pick(lambda each: each.rank < HIGHEST_RANK and not each.timed, factor=4):
        counts = inside(piece.rank + 1, lambda _: np.array([[draft.random.randrange(5)]], np.uint32), piece.nested)
        first = partner(draft, piece, Tile(UINT32))
        count = draft.play("count", Tile(UINT32), counts, piece.stream.shape)
        draft.keep(draft.read(first).flat_map(CountFrom(), draft.read(count)))


@step(6)
def retile(draft: Draft) -> None:
    """Tiles joined to one of dynamic size, and parted again: where there were none, an element becomes nothing."""

    def fits(piece: Piece) -> bool:
        return piece.rank > 0 and isinstance(piece.element, Tile)

    if draft.dynamic and (piece := draft.pick(fits)):
        rank = draft.random.randint(1, min(2, piece.rank))
        joined = draft.read(piece).accum(RetileRow(), rank=rank)
        if not joined.element.is_static:
            draft.keep(joined.flat_map(RetileStreamify(1, "row", draft.random.choice([0, 1]))), timed=piece.timed)
