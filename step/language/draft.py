"""A program that grows, as the samples of operators see it: each adds its operator once (docs/extending.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from step.language.dims import Dim, alike
from step.language.dtypes import FLOATS
from step.language.faults import rows_of
from step.language.graph import Graph, Tensor
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


class Draft(Protocol):
    """A program that grows; ``random`` makes all choices, and ``pool`` has what may be read."""

    random: Random
    graph: Graph
    pool: list[Piece]
    widest: int
    """Bits of a tuple."""

    def chance(self, probability: float) -> bool:
        """True as often as ``probability`` says."""

    def name(self, stem: str) -> str:
        """A new name."""

    def pick(self, fits: Callable[[Piece], bool] = ..., *, factor: int = 1) -> Piece | None:
        """A piece that ``fits``, and stays small when it gets ``factor`` times as large."""

    def read(self, piece: Piece) -> Stream:
        """The stream of ``piece`` for one more reader, with a channel of some depth."""

    def keep(self, *streams: Stream, timed: bool = False) -> list[Piece]:
        """Put ``streams`` into the pool; ``timed``: the order of arrival shows in them."""

    def applied(
        self, piece: Piece, kind: type[Any], result: Callable[..., ElementType] = ...
    ) -> tuple[Any, list[Stream]] | None:
        """A function of ``kind`` that takes ``piece``, and its operands; ``result`` is its type for elements."""

    def partner(self, piece: Piece, element: ElementType | None = None) -> Piece:
        """Another stream of the shape of ``piece``, and of ``element`` if there is one."""

    def numbers(self, piece: Piece, numbers: Iterable[int], stem: str) -> Piece:
        """A source of the shape of ``piece`` that plays ``numbers``."""

    def source(self) -> Piece:
        """A source of any type."""

    def play(self, stem: str, element: ElementType, nested: Nested, dims: Iterable[Dim | int]) -> Piece:
        """A source of ``nested``."""

    def selectors(self, targets: int, nested: Nested, dims: Iterable[Dim | int]) -> Piece:
        """A source of selectors."""

    def tile(self) -> Tile:
        """Any type of tile."""

    def value(self, element: ElementType) -> Any:
        """Any value of ``element``."""

    def nested(self, extents: Sequence[int | None], element: ElementType) -> Nested:
        """Nested lists of any values; ``extents`` are those of the dimensions, outermost first, None for any."""

    def grouped(self, entries: Nested, rank: int) -> Nested:
        """``entries`` in order, as nested lists of ``rank`` + 1 levels with empties between them."""

    def tensor(self, dims: Sequence[int], tile: Tile) -> Tensor:
        """An off-chip tensor of the scalars of ``tile``."""

    def tensor_of(self, tile: Tile, tiles: int) -> Tensor:
        """An off-chip tensor of ``tiles`` tiles, or a few more."""

    def stored(self) -> Piece | None:
        """Tiles that can go into buffers."""

    def fill(self, piece: Piece) -> tuple[Stream, int]:
        """Buffers of ``piece``, and of which rank they are."""

    def route(self, piece: Piece) -> tuple[list[Piece], Piece, int]:
        """The parts of ``piece`` by selectors, these, and the rank of the chunks."""

    def gather(self, streams: list[Stream], which: Piece, rank: int, *, timed: bool) -> None:
        """Keep chunks of ``streams`` together again, in the order of the ports or of arrival."""
