"""Contract violations that only show at run time, with the same code and text in every back end."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from step.language.tokens import Token
from step.language.types import ElementType, is_dynamic


class Fault(enum.IntEnum):
    """A fault that a unit found: the code of its RTL, and its ``meaning``."""

    meaning: str

    def __new__(cls, code: int, meaning: str = "") -> Fault:
        fault = int.__new__(cls, code)
        fault._value_, fault.meaning = code, meaning
        return fault

    STOPS_DISAGREE = 1, "its inputs do not have the same shape"
    MISSING_DATA = 2, "a selector came without the data that it should route"
    LEFTOVER_DATA = 3, "data is left over after the last selector"
    WRONG_COUNT = 4, "a reduction did not get the number of elements that its static shape promises"
    OUT_OF_RANGE = 5, "an address is out of range"
    NO_TOKEN = 6, "what it is given is no token that its stream may have next"
    NO_SUCH_TARGET = 7, "a selector names a target that is not there"
    BUFFER_TOO_LARGE = 8, "a buffer is larger than its scratchpad of {fabric.scratchpad_bytes} bytes"
    TOO_MANY_ROWS = (
        9,
        "a tile has more than {fabric.dynamic_rows} rows, the most that this fabric has room for; "
        "choose a fabric with a larger dynamic_rows",
    )
    ROWS_DO_NOT_FILL = 10, "the rows of a tile do not fill the one that is stored"
    BUS_ERROR = 11, "memory answers a read or write with an error (SLVERR)"
    NO_DEVICE = 12, "nothing is at the address of a read or write (DECERR)"
    NO_MOVEMENT = 13, "nothing moved for as many cycles as the watchdog allows"
    LIST_TOO_SHORT = 14, "the lengths of its list stand for more values or lengths than the list counts"
    REGION_FULL = 15, "what it writes does not fit into its region of memory"


SHOWS_VALUES = frozenset({Fault.OUT_OF_RANGE})
"""Faults that the value of a token is to blame for: it stands in the error."""


class Violation(Exception):
    """Raised by an operator's process; the interpreter adds operator, position and source line."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault


def aligned(*tokens: Token) -> Token:
    """The common control of ``tokens``; raises `Violation` where they differ."""
    first = tokens[0]
    for token in tokens[1:]:
        if (token.stop, token.rank, token.done) != (first.stop, first.rank, first.done):
            raise Violation(Fault.STOPS_DISAGREE)
    return first


def same_rows(tokens: Sequence[Token], ports: Sequence[int]) -> None:
    """Raise `Violation` unless the tiles that ``tokens`` have at ``ports`` have as many rows as each other."""
    if ports and tokens[ports[0]].has_value and len({rows_of(tokens[port].value) for port in ports}) > 1:
        raise Violation(Fault.STOPS_DISAGREE)


def rows_of(tile: Any) -> int:
    """The rows of a tile, or those of dynamic size in a tuple; where nobody wants the scalars, it is that number."""
    if isinstance(tile, Rowed):
        return tile.rows
    return tile if isinstance(tile, int) else len(tile)


class Rowed(tuple[Any, ...]):
    """The value of a tuple with tiles of dynamic size, all of which have ``rows`` rows."""

    rows: int


def rowed(items: Sequence[Any], tiled: int) -> Rowed:
    """The tuple of ``items``, of which number ``tiled`` is of dynamic size: a tile, or a tuple with such ones."""
    value = Rowed(items)
    value.rows = rows_of(items[tiled])
    return value


def tuple_of(elements: Sequence[ElementType]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """Makes tuples of values of ``elements``, which know their rows where there are tiles of dynamic size."""
    tiled = next((part for part, each in enumerate(elements) if is_dynamic(each)), None)
    return tuple if tiled is None else partial(rowed, tiled=tiled)
