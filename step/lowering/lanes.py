"""Lanes that single operators of a program have, in the place of those of the fabric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from step.errors import FabricError
from step.language.parameters import plain

MOST_LANES = 1 << 18


class Lanes(Mapping[str, int]):
    """Lanes by the name of an operator. It does not change, and has a hash; raises `FabricError` for bad numbers."""

    def __init__(self, lanes: Mapping[str, int] = MappingProxyType({})) -> None:
        self._lanes = {name: _number(name, lanes[name]) for name in sorted(lanes)}

    def __getitem__(self, name: str) -> int:
        return self._lanes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._lanes)

    def __len__(self) -> int:
        return len(self._lanes)

    def __hash__(self) -> int:
        return hash(tuple(self._lanes.items()))

    def __repr__(self) -> str:
        return repr(self._lanes)


def _number(name: str, given: Any) -> int:
    value = plain(given)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise FabricError(f"lanes.{name} must be an integer >= 1, not {value!r}")
    if value > MOST_LANES:
        raise FabricError(f"lanes.{name} must be at most {MOST_LANES:,}, not {value:,}")
    return value
