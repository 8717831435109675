"""Numbers of objects and functions, as C++ knows them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sim_approx.engine.words import RowsOf, unknown
from step.firing.words import number, targets_in
from step.language.faults import Violation, rows_of
from step.language.tokens import NOTHING, Token

NOTHING_THERE = -(1 << 63)
"""Where there is no value, or no integer."""

LARGEST = 1 << 62

ERROR = -1
"""The code of an exception, where others are faults."""


def mask_piece(mask: int, piece: int) -> int:
    """32 bits of a mask."""
    return mask >> 32 * piece & 0xFFFFFFFF


def only(port: int) -> int:
    """The selector of one port."""
    return 1 << port


class Handles:
    """The objects and functions that a run handles.

    The first objects are those that rules name, and `UNKNOWN` (-1) is among them; the first functions are those that
    the engine itself calls. ``error`` is what one of these raised, which ends the run. A `Violation` does not: it is a
    fault of the unit.
    """

    def __init__(self, named: Sequence[Any]) -> None:
        self.objects: list[Any] = []
        self._places: dict[int, int] = {}
        self._integers: dict[int, int] = {}
        self._functions: list[Callable[..., Any]] = [number, mask_piece, only, rows_of, targets_in, operator.neg]
        self._last: dict[int, tuple[list[int], int]] = {}
        self.error: BaseException | None = None
        for each in named:
            self.number(each)

    def keep(self) -> None:
        """Keep the objects that are there by now in every run."""
        self._kept = len(self.objects)

    def forget(self) -> None:
        """Keep no other objects, and no results of functions."""
        self._last.clear()
        self.error = None
        for each in self.objects[self._kept :]:
            del self._places[id(each)]
        del self.objects[self._kept :]

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

    def token(self, words: Iterable[int]) -> Token | None:
        """The opposite of `words`."""
        value, stop, rank, state = words
        return Token(self.value(value), stop, rank, bool(state & 1)) if state & 2 else None

    def function(self, function: Callable[..., Any]) -> int:
        """The number by which C++ calls ``function``; < 0: it needs not, as nobody wants more than rows."""
        if function is unknown:
            return -1
        if isinstance(function, RowsOf):  # `Engine::apply`: a bit for each of 32 operands, above these more rows
            return -2 - (sum(1 << place for place in function.of) | function.more << 32)
        self._functions.append(function)
        return len(self._functions) - 1

    def call(self, function: int, count: int, arguments: Any, code: Any) -> int:
        """Function ``function`` of values by their numbers; the last result of each is kept, as rules ask again."""
        numbers = arguments[:count]
        last = self._last.get(function)
        if last is not None and last[0] == numbers:
            return last[1]
        try:
            result = self.number(self._functions[function](*map(self.value, numbers)))
        except Violation as violation:
            code[0] = violation.fault
            return 0
        except BaseException as error:
            self.error = error
            code[0] = ERROR
            return 0
        self._last[function] = numbers, result
        return result
