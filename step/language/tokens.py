"""Tokens: what travels on a stream.

A stream is a sequence of values, of empties and one Done. A value carries the stop that follows it (0: none): the
number of dimensions that end behind it. A tensor of rank r >= 1 without elements is a token of its own, an *empty* of
rank r, with the stop s >= r that follows it. So streams and nested lists are in bijection, and no token has to be
understood from those before it:

    tokens([] of rank k)  =  the empty of rank k with stop k
    tokens(list of rank k)  =  the tokens of its entries (rank k - 1; rank 0: a value), the last one's stop raised to k

As text: values as they are, a stop as ``S2`` behind what it follows, an empty of rank 1 as ``E1`` (its stop is 1) or as
``E1 S2``, Done as ``D``. This is the only form there is: in the interpreter, the RTL and the timing model alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from step.errors import InputError, expect


class _Sentinel:
    """A named constant that is no value of any element type."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


NOTHING = _Sentinel("NOTHING")
"""The value of an empty and of Done."""

UNKNOWN = _Sentinel("UNKNOWN")
"""A value that is there, but was not computed: timing does not depend on it."""


class Token(NamedTuple):
    """A value with the stop that follows it (0: none), an empty of ``rank`` >= 1 with its stop, or `DONE`."""

    value: Any
    stop: int = 0
    rank: int = 0
    done: bool = False

    @property
    def has_value(self) -> bool:
        """True for a value: neither an empty nor Done."""
        return self.value is not NOTHING

    @property
    def is_empty(self) -> bool:
        """True for an empty: a tensor of rank `rank` without elements."""
        return self.rank > 0

    def __str__(self) -> str:
        if self.done:
            return "D"
        text = str(self.value) if self.has_value else f"E{self.rank}"
        return f"{text} S{self.stop}" if self.stop > self.rank else text


DONE = Token(NOTHING, done=True)
"""Done, the last token of every stream."""
BLANK = Token(NOTHING)
"""No token: neither a value nor an empty, nor Done."""


def empty(rank: int, stop: int | None = None) -> Token:
    """The empty of ``rank``; ``stop`` is at least, and by default, its rank."""
    return Token(NOTHING, rank if stop is None else stop, rank)


def from_nested(values: Any, rank: int) -> list[Token]:
    """The stream of rank ``rank`` that carries the nested sequences ``values`` (rank + 1 levels deep)."""

    def tensor(part: Any, level: int) -> Iterator[Token]:
        """One tensor of rank ``level``, and the stop that ends it."""
        if level == 0:
            yield Token(part)
            return
        last: Token | None = None
        for each in part:
            for token in tensor(each, level - 1):
                if last is not None:
                    yield last
                last = token
        yield empty(level) if last is None else last._replace(stop=level)

    return [*(token for each in values for token in tensor(each, rank)), DONE]


def to_nested(tokens: Iterable[Token], rank: int) -> list[Any]:
    """The nested lists that a stream of rank ``rank`` carries (rank + 1 levels deep), the opposite of `from_nested`."""
    result: list[Any] = []
    open_lists = [result]
    for token in tokens:
        if token.done:
            break
        while len(open_lists) < rank + 1 - token.rank:
            open_lists[-1].append([])
            open_lists.append(open_lists[-1][-1])
        open_lists[-1].append(token.value if token.has_value else [])
        del open_lists[max(1, rank + 1 - token.stop) :]
    return result


def extents_of(nested: list[Any], levels: int) -> list[list[int]]:
    """Extents of all tensors in ``nested`` lists of tensors, by dimension, outermost first."""
    found = []
    for _ in range(levels):
        found.append([len(each) for each in nested])
        nested = [part for each in nested for part in each]
    return found


def parse(text: str) -> list[Token]:
    """The stream of integers written as ``text``, its tokens parted by blanks.

    Raises `InputError` where that is no stream: a stop behind nothing, or below the rank of the empty that it follows;
    something behind Done, or no Done.
    """
    tokens: list[Token] = []
    may_stop = False
    for position, word in enumerate(text.split()):
        if tokens and tokens[-1].done:
            raise InputError(f"word {position + 1}, {word!r}, follows Done; Done must be the last token")
        if word == "D":
            tokens.append(DONE)
        elif word[0] in "SE" and word[1:].isdigit():
            level = int(word[1:])
            expect(level >= 1, f"word {position + 1}, {word!r}, has the level 0; the lowest one is 1", InputError)
            if word[0] == "E":
                tokens.append(empty(level))
            elif not may_stop or level < tokens[-1].rank:
                raise InputError(
                    f"word {position + 1}, {word!r}, must follow a value, or an empty of rank {level} or less; "
                    f"an empty tensor of rank {level} is E{level}"
                )
            else:
                tokens[-1] = tokens[-1]._replace(stop=level)
            may_stop = word[0] == "E"
        else:
            try:
                tokens.append(Token(int(word)))
            except ValueError:
                raise InputError(f"a token must be an integer, S1, E1, S2, E2, ... or D, not {word!r}") from None
            may_stop = True
    expect(tokens and tokens[-1].done, "a stream must end with Done", InputError)
    return tokens


def show(tokens: Iterable[Token]) -> str:
    """The stream as text, the opposite of `parse`."""
    return " ".join(str(token) for token in tokens)
