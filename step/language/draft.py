"""A program that grows, as the samples of operators see it: each adds its operator once (docs/extending.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from step.language.dims import alike
from step.language.dtypes import FLOATS
from step.language.faults import rows_of
from step.language.stream import Stream
from step.language.types import ElementType, Tile, is_dynamic

HIGHEST_RANK = 6
"""The highest rank of a stream."""

Nested = list[Any]


def inside(levels: int, function: Callable[..., Any], *parts: Any) -> Any:
    """``parts`` with every entry ``levels`` levels deep replaced by ``function`` of it.

    Several parts must have the same shape down to there, else `ValueError`.
    """
    if levels == 0:
        return function(*parts)
    return [inside(levels - 1, function, *entries) for entries in zip(*parts, strict=True)]


def entries(levels: int, part: Any) -> Nested:
    """All that lies ``levels`` levels deep in ``part``, in order."""
    if levels == 0:
        return [part]
    return [entry for each in part for entry in entries(levels - 1, each)]


@dataclass(frozen=True, eq=False)
class Piece:
    """A stream, and the nested lists that it carries.

    ``timed``: the order of arrival may show in them, so that nothing else may rely on them.
    """

    stream: Stream
    nested: Nested
    timed: bool

    @property
    def element(self) -> ElementType:
        """The type of its elements."""
        return self.stream.element

    @property
    def rank(self) -> int:
        """The rank of the stream."""
        return self.stream.rank

    @property
    def elements(self) -> Nested:
        """All elements, in order."""
        return entries(self.rank + 1, self.nested)

    @property
    def is_tile(self) -> bool:
        """Whether there are tiles of static size."""
        return isinstance(self.element, Tile) and self.element.is_static

    @property
    def is_dynamic(self) -> bool:
        """Whether there are tiles with a dynamic number of rows, maybe in tuples."""
        return is_dynamic(self.element)

    @property
    def is_float(self) -> bool:
        """Whether there are tiles of numbers with a fraction that arithmetic takes."""
        return isinstance(self.element, Tile) and self.element.dtype in FLOATS

    def has_rows_of(self, other: Piece) -> bool:
        """Whether its tiles have as many rows as those of ``other``, of the same shape, where both are dynamic."""
        if not (self.is_dynamic and other.is_dynamic):
            return True
        return all(rows_of(one) == rows_of(two) for one, two in zip(self.elements, other.elements, strict=True))

    def has_chunks_of(self, other: Piece) -> bool:
        """Whether chunks of both can go into one stream."""
        same = self.element == other.element and self.rank == other.rank
        return same and alike(self.stream.shape[1:], other.stream.shape[1:])


Draft = Any
"""A program that grows: a `step_check.samples.draft.GrowingDraft`, which stands above this room."""
