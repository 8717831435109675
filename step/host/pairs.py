"""``NAME=VALUE``, as it is written on command lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from step.errors import InputError, expect

Fits = Callable[[str], object]


def pair(text: str, must: str, fits: Fits = bool) -> tuple[str, str]:
    """The name and the value of ``text``; raises `InputError`, which says what it ``must`` be, where there is no name,
    or a value that does not fit."""
    name, _, value = text.partition("=")
    expect(name and fits(value), f"{must}, not {text!r}", InputError)
    return name, value


def pairs(texts: Iterable[str], must: str, twice: str, fits: Fits = bool) -> dict[str, str]:
    """The values of ``texts`` by their names; raises `InputError` as `pair`, and for a name that is there ``twice``."""
    values = dict[str, str]()
    for name, value in (pair(each, must, fits) for each in texts):
        expect(name not in values, twice.format(name), InputError)
        values[name] = value
    return values
