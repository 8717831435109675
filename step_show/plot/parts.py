"""Parts of a program by the names of its operators: what is there several times has a number in its name."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PART = re.compile(r"(.*?[A-Za-z_]\d+)_")
_NUMBER = re.compile(r"\d+")


def part_of(name: str) -> str | None:
    """The part that an operator is in: ``expert3`` of ``expert3_gate_projection``; None: it is in none."""
    found = _PART.match(name)
    return found and found[1]


def repeated(name: str) -> str:
    """The name that operators share which differ in their numbers: ``expert*_gate_projection``."""
    return _NUMBER.sub("*", name)


def grouped(names: Iterable[str]) -> dict[str, list[str]]:
    """``names`` by what they share, in the order in which these come first; one that is alone has its own name."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(repeated(name), []).append(name)
    return {shared if len(each) > 1 else each[0]: each for shared, each in found.items()}
