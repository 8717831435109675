"""Things by name: a name that is not there is an error that says which are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain, count
from typing import TypeVar

from step.errors import UnknownName
from step.host.nearest import among

Value = TypeVar("Value")


def unknown(what: str, name: object, known: Iterable[str]) -> str:
    """``"there is no output 'z'; there are x, y"``, with the name that may have been meant."""
    return f"there is no {what} {name!r}; {among(str(name), known, 'there are')}"


def unused(stem: str, is_taken: Callable[[str], bool]) -> str:
    """``stem``, or the first with a number behind it that is not taken."""
    return next(name for name in chain([stem], (f"{stem}_{at}" for at in count(2))) if not is_taken(name))


class ByName(dict[str, Value]):
    """A dictionary of ``what`` things; one that is not there is an `UnknownName`."""

    def __init__(self, things: Mapping[str, Value] | Iterable[tuple[str, Value]] = (), what: str = "entry") -> None:
        super().__init__(things)
        self.what = what

    def __missing__(self, name: str) -> Value:
        raise UnknownName(unknown(self.what, name, self))
