"""Numbers of objects, as C++ knows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from step.language.tokens import NOTHING, Token

NOTHING_THERE = -(1 << 63)
"""Where there is no value, or no integer."""

LARGEST = 1 << 62


class Handles:
    """The objects that a run handles; the first ones are those that rules name, and `UNKNOWN` (-1) is among them."""

    def __init__(self, named: Sequence[Any]) -> None:
        self.objects: list[Any] = []
        self._places: dict[int, int] = {}
        self._integers: dict[int, int] = {}
        for each in named:
            self.number(each)

    def forget(self, count: int) -> None:
        """Keep the first ``count`` objects only."""
        for each in self.objects[count:]:
            del self._places[id(each)]
        del self.objects[count:]

    def number(self, value: Any) -> int:
        """The number of ``value``; objects are the same if they are one object, or equal integers."""
        if type(value) is int:
            if 0 <= value < LARGEST:
                return value
            value = self._integers.setdefault(value, value)  # selectors of many targets come again and again
        if value is NOTHING:
            return NOTHING_THERE
        place = self._places.get(id(value))
        if place is None:
            place = self._places[id(value)] = len(self.objects)
            self.objects.append(value)
        return ~place

    def value(self, number: int) -> Any:
        """The value of ``number``."""
        if number >= 0:
            return number
        return NOTHING if number == NOTHING_THERE else self.objects[~number]

    def words(self, token: Token | None) -> tuple[int, int, int, int]:
        """A token, or none, as C++ reads it."""
        if token is None:
            return NOTHING_THERE, 0, 0, 0
        return self.number(token.value), token.stop, token.rank, token.done | 2

    def token(self, words: Sequence[int]) -> Token | None:
        """The opposite of `words`."""
        value, stop, rank, state = words
        return Token(self.value(value), stop, rank, bool(state & 1)) if state & 2 else None
