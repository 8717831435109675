"""Steps: functions by which a program grows, each by an operator or a few, or not at all where nothing fits."""

from __future__ import annotations

from collections.abc import Callable

from step.fuzz.draft import Draft, Piece
from step.fuzz.nested import inside
from step.fuzz.values import alike, random_tile, random_value
from step.language.dtypes import BF16, INTEGERS
from step.language.types import ElementType, Tile

LARGEST_TILE = 16
"""Scalars of a token that the fabrics of these tests carry."""

WIDEST = 600
"""Bits of a tuple."""

MANY = 200
"""Tiles of a tensor."""

STEPS: list[Callable[[Draft], None]] = []


def step(weight: int) -> Callable[[Callable[[Draft], None]], Callable[[Draft], None]]:
    """Take the step ``weight`` times as often as others."""

    def register(function: Callable[[Draft], None]) -> Callable[[Draft], None]:
        STEPS.extend([function] * weight)
        return function

    return register


def scalars(tile: ElementType) -> int:
    """Scalars of a tile of static size."""
    assert isinstance(tile, Tile)
    return int(tile.elements)


def is_bf16(piece: Piece) -> bool:
    """Whether it carries tiles of BF16."""
    return isinstance(piece.element, Tile) and piece.element.dtype is BF16


def is_integer(piece: Piece) -> bool:
    """Whether it carries tiles of integers."""
    return isinstance(piece.element, Tile) and piece.element.dtype in INTEGERS


def partner(draft: Draft, piece: Piece, element: ElementType | None = None) -> Piece:
    """A stream of the shape of ``piece``, and of ``element`` if there is one: from the pool, or a source."""
    found = [
        each
        for each in draft.pool
        if each.stream.shape == piece.stream.shape
        and element in (None, each.element)
        and not each.timed
        and alike(each.nested, piece.nested, piece.rank + 1)
    ]
    if found and not piece.timed and draft.chance(0.5):
        return draft.random.choice(found)
    if element in (None, piece.element) and (piece.timed or draft.chance(0.3)):
        return piece
    assert not piece.timed
    wanted = element or random_tile(draft.random)
    nested = inside(piece.rank + 1, lambda _: random_value(draft.random, wanted), piece.nested)
    return draft.play("twin", wanted, nested, piece.stream.shape)
