"""Elements on links: their words, and the width of these.

A tile is as many words of the link as its bits need, a tuple the words of its items one after the other, so that each
item starts a word. Selectors and addresses, on which operators decide, travel with the header of their token and take
no words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from step.language.types import ElementType, Tile, Tuple, is_dynamic
from step.lowering.plans.rows import largest, parts


def item_bits(element: ElementType) -> tuple[int, ...]:
    """Bits of what ``element`` is made of: of the items of a tuple, in order, else its own."""
    if isinstance(element, Tuple):
        return tuple(bits for item in element.items for bits in item_bits(item))
    return (element.bits,) if element.bits else ()


def word_bits(items: tuple[int, ...], link_bytes: int) -> int:
    """Bits of a word: those of the link, or of the widest of ``items`` where that is narrower."""
    return min(8 * link_bytes, max(items, default=0))


def words(items: tuple[int, ...], link_bytes: int) -> tuple[int, ...]:
    """Words that each of ``items`` takes."""
    return tuple(-(-bits // (8 * link_bytes)) for bits in items)


@dataclass(frozen=True)
class Span:
    """Words on a link of ``link_bits``: ``fixed`` ones, and those of tiles of dynamic size with ``rows`` bits a row."""

    fixed: int = 0
    rows: tuple[int, ...] = ()
    link_bits: int = 0

    @classmethod
    def of(cls, elements: Iterable[ElementType], link_bytes: int) -> Span:
        """Words of ``elements`` one after the other."""
        tiles = [tile for element in elements for tile in leaves(element)]
        fixed = sum(sum(words(item_bits(each), link_bytes)) for each in tiles if not is_dynamic(each))
        rows = (each.with_rows(1).bits for each in tiles if isinstance(each, Tile) and is_dynamic(each))
        return cls(fixed, tuple(rows), 8 * link_bytes)

    def __add__(self, other: Span) -> Span:
        return Span(self.fixed + other.fixed, self.rows + other.rows, self.link_bits or other.link_bits)

    def is_within(self, other: Span) -> bool:
        """Whether ``other`` has as many or more, with any rows."""
        return self.fixed <= other.fixed and not Counter(self.rows) - Counter(other.rows)

    def at(self, rows: Any) -> Any:
        """Number of words with so many ``rows``: a number, or hardware."""
        found = [parts(rows, each, self.link_bits) for each in self.rows]
        return sum(found[1:], found[0] + self.fixed if self.fixed else found[0]) if found else self.fixed

    def comes(self, rows: Any) -> Any:
        """Cycles from a firing to what follows these words: with tiles of dynamic size at least one."""
        return largest(1, self.at(rows)) if self.rows else self.fixed


def leaves(element: ElementType) -> Iterator[ElementType]:
    """Parts of ``element``, in order."""
    if not isinstance(element, Tuple):
        yield element
        return
    for item in element.items:
        yield from leaves(item)


@lru_cache(maxsize=1 << 12)  # channels of a program carry few types that differ
def data_words(element: ElementType | None, link_bytes: int, rows: int = 0) -> int:
    """Words that follow the header of a value of ``element``; none if only the header is sent (None).

    Tiles of dynamic size have so many ``rows``, and are no control, whatever their size.
    """
    if element is None or element.is_control:
        return 0
    if is_dynamic(element):
        return int(Span.of((element,), link_bytes).at(rows))
    return sum(words(item_bits(element), link_bytes))


@dataclass(frozen=True)
class Gathering:
    """Tiles with ``row`` bits a row whose words of ``narrow`` bits are gathered to words of ``wide`` ones."""

    row: int
    narrow: int
    wide: int

    def waits(self, rows: Any) -> Any:
        """Cycles that a header waits so that its words can be read without a gap: a number, or hardware."""
        return parts(rows, self.row, self.narrow) - parts(rows, self.row, self.wide)


def stop_bits(rank: int) -> int:
    """Bits of a stop token, or of the rank of an empty, in a stream of ``rank``."""
    return max(1, rank.bit_length())


def rows_bits(most_rows: int) -> int:
    """Bits of a number of rows; one more than the most is told as well, so that it can be refused."""
    return (most_rows + 1).bit_length()


def slots_in_flight(latency: int, interval: int) -> int:
    """Slots beside its depth that a channel has for tokens on their way through the unit in front of it.

    A slot is free again ``latency`` + 2 cycles after its claim at the earliest, and there are two at least.
    """
    return latency // interval


def link_words(element: ElementType | None, link_bytes: int, rows: int = 0) -> int:
    """Cycles that a value of ``element``, with so many ``rows`` where these are dynamic, takes on a link: 1 or more."""
    return max(1, data_words(element, link_bytes, rows))
