"""Functions of values that every reader of rules knows: tuples of what arrives, their items, and lists of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from step.language.faults import rowed, rows_of
from step.language.types import Tuple, is_dynamic
from step.lowering.links import Span


@dataclass(frozen=True)
class RowsOf:
    """Stands for a function of tiles of which only the rows are wanted: those of the operands ``of``, and ``more``."""

    of: tuple[int, ...]
    more: int = 0

    def __call__(self, *values: Any) -> int:
        return sum(rows_of(values[place]) for place in self.of) + self.more


@dataclass(frozen=True)
class SideBySide:
    """The tuple of its operands, of which number ``tiled`` has tiles of dynamic size, as many rows as the tuple."""

    tiled: int

    def __call__(self, *items: Any) -> Any:
        return rowed(items, self.tiled)

    @property
    def rows(self) -> RowsOf:
        """The rows of the result."""
        return RowsOf((self.tiled,))


@dataclass(frozen=True)
class Item:
    """Gives item ``index`` of a tuple of type ``element``: where its words are, and when a token with it may leave."""

    element: Tuple
    index: int

    def __call__(self, value: Any) -> Any:
        return value[self.index]

    @property
    def rows(self) -> RowsOf | None:
        """The rows of the result, where they are dynamic."""
        return RowsOf((0,)) if is_dynamic(self.element.items[self.index]) else None

    def first(self, link_bytes: int) -> int | Span:
        """The word of the tuple with which the item begins, on links of ``link_bytes``."""
        before = self._before(link_bytes)
        return before if before.rows else before.fixed

    def latency(self, link_bytes: int, rows: int) -> int:
        """Cycles from a firing to its token leaving: the words leave when they come; a header waits for its control.

        Behind tiles of dynamic size, which have so many ``rows`` here, it is one at least.
        """
        item, begin = self.element.items[self.index], int(self._before(link_bytes).comes(rows))
        return begin + (Span.of((item,), link_bytes).fixed if item.is_control else 0)

    def _before(self, link_bytes: int) -> Span:
        return Span.of(self.element.items[: self.index], link_bytes)


@dataclass(frozen=True)
class Listed:
    """Gives the value with a number: of ``values``, integers of a range or those of a list, as they are ``made``."""

    values: Sequence[Any]
    made: Callable[[int], Any]

    def __call__(self, number: int) -> Any:
        return self.made(number)
