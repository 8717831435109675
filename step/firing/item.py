"""The item of a tuple: where its words are among those of the tuple, and when a token with it may leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from step.language.types import Tuple
from step.lowering.links import tuple_words


@dataclass(frozen=True)
class Item:
    """Gives item ``index`` of a tuple of type ``element``: a function of values that every reader of rules knows."""

    element: Tuple
    index: int

    def __call__(self, value: Any) -> Any:
        return value[self.index]

    def first(self, link_bytes: int) -> int:
        """The word of the tuple with which the item begins, on links of ``link_bytes``."""
        return sum(tuple_words(self.element, link_bytes)[: self.index])

    def latency(self, link_bytes: int) -> int:
        """Cycles from a firing to its token leaving: the words leave when they come; a header waits for its control."""
        control = self.element.items[self.index].is_control
        return self.first(link_bytes) + (tuple_words(self.element, link_bytes)[self.index] if control else 0)
