"""Tokens: what travels on a stream.

There are two spellings of one stream. The abstract one is a sequence of values, stops and one Done
(``1 2 S1 3 S2 D``). The wire form is what the interpreter, the RTL and the timing model all handle: there, a
stop that ends an open value *always rides with it*, so a bare stop only ever follows another stop or opens the
stream. That makes the wire form unique: equal streams have equal tokens, and a bare stop is always an empty.

A bare stop of level ``s`` after a stop of level ``p`` (``p`` is unbounded at the start of a stream) is an
empty tensor of rank ``min(s, p)``, which then also closes what is open up to ``s``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from step.errors import InputError


class _Sentinel:
    """A named constant that is no value of any element type."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


NOTHING = _Sentinel("NOTHING")
"""The value of a bare stop and of Done."""

UNKNOWN = _Sentinel("UNKNOWN")
"""A value that is there, but was not computed: timing does not depend on it."""

OPEN = 1 << 16
"""The level that stands before the first token: higher than any stop."""


class Token(NamedTuple):
    """One token in wire form: a value with the stop that follows it (0: none), a bare stop, or Done."""

    value: Any
    stop: int = 0
    done: bool = False

    @property
    def has_value(self) -> bool:
        return self.value is not NOTHING

    @property
    def is_bare(self) -> bool:
        """True for a stop without a value: an empty tensor."""
        return self.value is NOTHING and not self.done

    def __str__(self) -> str:
        if self.done:
            return "D"
        text = str(self.value) if self.has_value else ""
        return f"{text} S{self.stop}".strip() if self.stop else text


DONE = Token(NOTHING, 0, True)


def bare(stop: int) -> Token:
    """A stop without a value."""
    return Token(NOTHING, stop)


class Stop(NamedTuple):
    """A stop token of the abstract form."""

    level: int


class Done(NamedTuple):
    """The last token of the abstract form."""


def abstract(tokens: Iterable[Token]) -> Iterator[Any]:
    """The abstract form of ``tokens``: values, `Stop` and `Done`."""
    for token in tokens:
        if token.done:
            yield Done()
            continue
        if token.has_value:
            yield token.value
        if token.stop:
            yield Stop(token.stop)


def wire(items: Iterable[Any]) -> list[Token]:
    """The wire form of an abstract stream.

    Raises `InputError` where ``items`` is no stream: a stop below level 1, something after Done, no Done.
    """
    tokens: list[Token] = []
    for position, item in enumerate(items):
        if tokens and tokens[-1].done:
            raise InputError(f"token {position} follows Done; Done must be the last token")
        if isinstance(item, Done):
            tokens.append(DONE)
        elif isinstance(item, Stop):
            if item.level < 1:
                raise InputError(f"token {position} is a stop of level {item.level}; the lowest level is 1")
            if tokens and tokens[-1].has_value and tokens[-1].stop == 0:
                tokens[-1] = tokens[-1]._replace(stop=item.level)
            else:
                tokens.append(bare(item.level))
        else:
            tokens.append(Token(item))
    if not tokens or not tokens[-1].done:
        raise InputError("a stream must end with Done")
    return tokens


def from_nested(values: Any, rank: int) -> list[Token]:
    """The stream of rank ``rank`` that carries the nested sequences ``values`` (rank + 1 levels deep)."""

    def close(part: Any, level: int) -> Iterator[Any]:
        """One tensor of rank ``level`` and the stop that ends it."""
        if level == 0:
            yield part
            return
        pending: Any = None
        for each in part:
            if pending is not None:
                yield pending
            items = list(close(each, level - 1))
            yield from items[:-1]
            pending = items[-1]
        if pending is not None and not isinstance(pending, Stop):
            yield pending
        yield Stop(level)

    items = [item for each in values for item in close(each, rank)]
    return wire([*items, Done()])


def to_nested(tokens: Iterable[Token], rank: int) -> list[Any]:
    """The nested lists that a stream of rank ``rank`` carries (rank + 1 levels deep)."""
    result: list[Any] = []
    open_lists: list[list[Any]] = [result]
    before = OPEN
    for token in tokens:
        if token.done:
            break
        empty = 0 if token.has_value else min(token.stop, before)
        while len(open_lists) < rank + 1 - empty:
            open_lists[-1].append([])
            open_lists.append(open_lists[-1][-1])
        if token.has_value:
            open_lists[-1].append(token.value)
        else:
            open_lists[-1].append([])
        del open_lists[max(1, rank + 1 - token.stop) :]
        before = token.stop if not token.has_value or token.stop else 0
    return result


def parse(text: str) -> list[Token]:
    """The stream written as integers, ``S1``, ``S2``, ... and ``D``, parted by blanks."""
    items: list[Any] = []
    for word in text.split():
        if word == "D":
            items.append(Done())
        elif word.startswith("S") and word[1:].isdigit():
            items.append(Stop(int(word[1:])))
        else:
            try:
                items.append(int(word))
            except ValueError:
                raise InputError(f"a token must be an integer, S1, S2, ... or D, not {word!r}") from None
    return wire(items)


def show(tokens: Iterable[Token]) -> str:
    """The abstract form as text, the opposite of `parse`."""
    return " ".join(str(token) for token in tokens)
