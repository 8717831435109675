"""Parts of a program by the names of its operators: what is there several times has a number in its name."""

from __future__ import annotations

import re
from collections.abc import Iterable

from step.programs.folding import members, starred

_PART = re.compile(r"(.*?[A-Za-z_]\d+)_")


def part_of(name: str) -> str | None:
    """The part that an operator is in: ``expert3`` of ``expert3_gate_projection``; None: it is in none."""
    found = _PART.match(name)
    return found and found[1]


def grouped(names: Iterable[str]) -> dict[str, list[str]]:
    """``names`` by what they share, ``expert*_gate_projection``, in the order in which these come first; one that is
    alone has its own name."""
    found = members({name: starred(name) for name in names})
    return {shared if len(each) > 1 else each[0]: each for shared, each in found.items()}
