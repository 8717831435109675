"""The tuple of what arrives, and the items of tuples: functions of values that every reader of rules knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from step.language.faults import rowed
from step.language.types import Tuple, is_dynamic
from step.lowering.links import Span, item_bits, words


@dataclass(frozen=True)
class SideBySide:
    """The tuple of its operands, of which number ``tiled`` has tiles of dynamic size, as many rows as the tuple."""

    tiled: int

    def __call__(self, *items: Any) -> Any:
        return rowed(items, self.tiled)

    @property
    def rows_from(self) -> tuple[int, ...]:
        """The operands whose rows the result has."""
        return (self.tiled,)


@dataclass(frozen=True)
class Item:
    """Gives item ``index`` of a tuple of type ``element``: where its words are, and when a token with it may leave."""

    element: Tuple
    index: int

    def __call__(self, value: Any) -> Any:
        return value[self.index]

    @property
    def rows_from(self) -> tuple[int, ...]:
        """The operands whose rows the result has."""
        return (0,) if is_dynamic(self.element.items[self.index]) else ()

    def first(self, link_bytes: int) -> int | Span:
        """The word of the tuple with which the item begins, on links of ``link_bytes``."""
        before = self.element.items[: self.index]
        if any(map(is_dynamic, before)):
            return Span.of(before, link_bytes)
        return sum(words(item_bits(Tuple(before)), link_bytes))

    def latency(self, link_bytes: int, rows: int) -> int:
        """Cycles from a firing to its token leaving: the words leave when they come; a header waits for its control.

        Behind tiles of dynamic size, which have so many ``rows`` here, it is one at least.
        """
        first, item = self.first(link_bytes), self.element.items[self.index]
        begin = max(1, first.at(rows)) if isinstance(first, Span) else first
        return begin + (sum(words(item_bits(item), link_bytes)) if item.is_control else 0)
