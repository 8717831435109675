"""Things by name: a name that is not there is an error that says which are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from step.errors import UnknownName
from step.host.nearest import did_you_mean

Value = TypeVar("Value")


def unknown(what: str, name: object, known: Iterable[str]) -> str:
    """``"there is no output 'z'; there are x, y"``, with the name that may have been meant."""
    names = list(known)
    return f"there is no {what} {name!r}; {did_you_mean(str(name), names)}there are {', '.join(names) or 'none'}"


class ByName(dict[str, Value]):
    """A dictionary of ``what`` things; one that is not there is an `UnknownName`."""

    def __init__(self, things: Mapping[str, Value] | Iterable[tuple[str, Value]] = (), what: str = "entry") -> None:
        super().__init__(things)
        self.what = what

    def __missing__(self, name: str) -> Value:
        raise UnknownName(unknown(self.what, name, self))
