"""Chunks of several streams that go into one: they must be alike."""

from __future__ import annotations

from collections.abc import Sequence

import sympy

from step.language.dims import Dim, DimKind, Shape, alike, mean
from step.language.operator import Names, StreamType, expect, expect_rank
from step.language.types import ElementType, Tile


def expect_equal_chunks(streams: Sequence[StreamType], rank: int) -> None:
    """Raise `TypeMismatch` unless all ``streams`` have ``rank``, and chunks of the same type and shape.

    The tiles of one may have other rows or columns than those of another where a run tells how many.
    """
    first = streams[0]
    expect_rank(rank, 0, first.rank)
    for position, each in enumerate(streams):
        expect(each.rank == rank, f"data streams must have rank {rank}, but input {position} has {each.rank}")
        expect(
            alike(each.shape[1:], first.shape[1:]) and _alike(each.element, first.element),
            f"data streams must carry equal chunks, but input 0 is {first} and input {position} is {each}",
        )


def _alike(one: ElementType, other: ElementType) -> bool:
    if not isinstance(one, Tile) or not isinstance(other, Tile):
        return one == other
    pairs = (one.rows, other.rows), (one.cols, other.cols)
    return one.dtype is other.dtype and all(a == b or not (a.is_static and b.is_static) for a, b in pairs)


def common_chunk(streams: Sequence[StreamType], names: Names) -> Shape:
    """The dimensions of the chunks of all ``streams`` together."""
    rank = streams[0].rank
    return tuple(
        # Ragged: the tensors of all inputs together have another total than those of any one.
        names.symbol(f"D{rank - 1 - position}", DimKind.RAGGED) if any(each.is_ragged for each in dims) else dims[0]
        for position, dims in enumerate(zip(*(each.shape[1:] for each in streams), strict=True))
    )


def together(streams: Sequence[StreamType], shape: Shape, names: Names) -> StreamType:
    """The elements of all ``streams`` in one of this ``shape``."""
    elements = [each.element for each in streams]
    first = elements[0]
    if not isinstance(first, Tile) or all(each == first for each in elements):
        return StreamType(first, shape)
    tiles = StreamType(first, shape).count
    pairs = zip(*((each.rows, each.cols) for each in elements if isinstance(each, Tile)), strict=True)
    rows, cols = (_common_extent(dims, tiles, hint, names) for hint, dims in zip(("rows", "cols"), pairs, strict=True))
    return StreamType(Tile(first.dtype, rows, cols), shape)


def _common_extent(dims: Sequence[Dim], tiles: sympy.Expr, hint: str, names: Names) -> Dim:
    """The extent that all have, or else their mean: a new ragged symbol, which is the total, by the number of tiles."""
    if all(each == dims[0] for each in dims):
        return dims[0]
    return mean(names.symbol(hint, DimKind.RAGGED).extent, tiles)
