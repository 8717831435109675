"""Parameters that single operators of a program have, in the place of those of the fabric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from step.errors import FabricError
from step.language.parameters import plain

MOST_LANES = 1 << 18
MOST_BYTES = 1 << 16

LANES, LINKS = "lanes", "links"

MOST = {LANES: MOST_LANES, LINKS: MOST_BYTES}
"""The largest number of each kind."""


class Own(Mapping[str, int]):
    """Numbers of a ``kind`` by the name of an operator. It does not change, and has a hash.

    Raises `FabricError` for what is no mapping, and for bad numbers; those of `LINKS` are powers of two.
    """

    def __init__(self, kind: str, numbers: Any) -> None:
        if not isinstance(numbers, Mapping):
            raise FabricError(f"{kind} must be an object of numbers by the names of operators, not {numbers!r}")
        self._numbers = {name: _number(kind, name, numbers[name]) for name in sorted(numbers)}

    def __getitem__(self, name: str) -> int:
        return self._numbers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __hash__(self) -> int:
        return hash(tuple(self._numbers.items()))

    def __repr__(self) -> str:
        return repr(self._numbers)


def _number(kind: str, name: str, given: Any) -> int:
    value = plain(given)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise FabricError(f"{kind}.{name} must be an integer >= 1, not {value!r}")
    if value > MOST[kind]:
        raise FabricError(f"{kind}.{name} must be at most {MOST[kind]:,}, not {value:,}")
    if kind == LINKS and value & (value - 1):
        raise FabricError(f"{kind}.{name} must be a power of two, not {value}")
    return value
