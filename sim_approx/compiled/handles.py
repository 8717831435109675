"""Values and functions of them as numbers, as C++ knows them.

Integers >= 0 stand for themselves, and for an object stands the complement of its place. A function is called back.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from sim_approx.words import RowsOf, unknown
from step.firing.machine import Pace, Sizes, rows
from step.firing.words import number, only
from step.language.faults import Violation
from step.language.tokens import NOTHING, Token

LARGEST = 1 << 62
NO_VALUE = -(1 << 63)


class Handles:
    """The objects that a run handles; the first ones are those that rules name, and `UNKNOWN` (-1) is among them."""

    def __init__(self, named: Sequence[Any]) -> None:
        self._objects: list[Any] = []
        self._places: dict[int, int] = {}
        self._integers: dict[int, int] = {}
        for each in named:
            self.number(each)

    @property
    def count(self) -> int:
        """Of the objects that have numbers."""
        return len(self._objects)

    def forget(self, count: int) -> None:
        """Keep the first ``count`` objects only."""
        for each in self._objects[count:]:
            del self._places[id(each)]
        del self._objects[count:]

    def number(self, value: Any) -> int:
        """The number of ``value``; objects are the same if they are one object, or equal integers."""
        if type(value) is int:
            if 0 <= value < LARGEST:
                return value
            value = self._integers.setdefault(value, value)  # selectors of many targets come again and again
        if value is NOTHING:
            return NO_VALUE
        place = self._places.get(id(value))
        if place is None:
            place = self._places[id(value)] = len(self._objects)
            self._objects.append(value)
        return ~place

    def value(self, number: int) -> Any:
        """The value of ``number``."""
        if number >= 0:
            return number
        return NOTHING if number == NO_VALUE else self._objects[~number]

    def words(self, token: Token | None) -> tuple[int, int, int, int]:
        """A token, or none, as C++ reads it."""
        if token is None:
            return NO_VALUE, 0, 0, 0
        return self.number(token.value), token.stop, token.rank, token.done | 2

    def token(self, words: Sequence[int]) -> Token | None:
        """The opposite of `words`."""
        value, stop, rank, state = words
        return Token(self.value(value), stop, rank, bool(state & 1)) if state & 2 else None


CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int64,
    ctypes.c_int64,
    ctypes.c_int64,
    ctypes.POINTER(ctypes.c_int64),
    ctypes.POINTER(ctypes.c_int64),
)

ERROR = -1
"""The code of an exception, where others are faults."""


def mask_piece(mask: int, piece: int) -> int:
    """32 bits of a mask."""
    return mask >> 32 * piece & 0xFFFFFFFF


def pace_part(sizes: Sizes) -> Callable[[int, int], int]:
    """The parts of a `Pace` by the number of rows, one by one."""

    def part(rows: int, place: int) -> int:
        pace: Pace = sizes(rows)
        return pace[place]

    return part


class Functions:
    """The functions of a run by number; those that engines themselves call come first.

    ``error`` is what one of them raised, which ends the run. A `Violation` does not: it is a fault of the unit.
    """

    def __init__(self, handles: Handles) -> None:
        self._handles = handles
        self._all: list[Callable[..., Any]] = [number, mask_piece, only, rows]
        self._last: dict[int, tuple[list[int], int]] = {}
        self.error: BaseException | None = None

    def number(self, function: Callable[..., Any]) -> int:
        """The number by which C++ calls ``function``; < 0: it needs not, as nobody wants more than rows."""
        if function is unknown:
            return -1
        if isinstance(function, RowsOf):
            return _counted(function)
        self._all.append(function)
        return len(self._all) - 1

    def forget(self) -> None:
        """Keep no results."""
        self._last.clear()
        self.error = None

    def call(self, function: int, count: int, arguments: Any, code: Any) -> int:
        """Function ``function`` of values by their numbers; the last result of each is kept, as rules ask again."""
        numbers = arguments[:count]
        last = self._last.get(function)
        if last is not None and last[0] == numbers:
            return last[1]
        try:
            result = self._handles.number(self._all[function](*map(self._handles.value, numbers)))
        except Violation as violation:
            code[0] = violation.fault
            return 0
        except BaseException as error:
            self.error = error
            code[0] = ERROR
            return 0
        self._last[function] = numbers, result
        return result


def _counted(function: RowsOf) -> int:
    """As ``Engine::apply`` reads it: a bit for each of the first 32 operands, and above these how many more rows."""
    return -2 - (sum(1 << place for place in function.of) | function.more << 32)
