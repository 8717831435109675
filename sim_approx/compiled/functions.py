"""Functions of values, as C++ calls them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from sim_approx.compiled.handles import Handles
from sim_approx.words import RowsOf, unknown
from step.firing.machine import Pace, Sizes, rows
from step.firing.words import number, only
from step.language.faults import Violation

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
