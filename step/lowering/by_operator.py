"""Parameters that single operators or channels of a program have, in the place of those of the fabric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from step.errors import FabricError
from step.language.parameters import Within, settled
from step.language.stream import Hops
from step.lowering.limits import MOST_STAGES

LANES, LINKS, CUTS, HOPS = "lanes", "links", "cuts", "hops"

Lanes = Annotated[int, Within(1, 1 << 18, bits=32)]
LinkBytes = Annotated[int, Within(1, 1 << 16, bits=8, power=True)]
Stages = Annotated[int, Within(1, MOST_STAGES)]

NUMBERS = {
    LANES: Annotated[int, Within(1, 1 << 18)],
    LINKS: Annotated[int, Within(1, 1 << 16, power=True)],
    CUTS: Stages,
    HOPS: Hops,
}
"""Numbers of each kind."""

OWNERS = {LANES: "operator", LINKS: "operator", CUTS: "operator", HOPS: "channel"}
"""By kind, the part of a program that has a number."""


class ByOperator(Mapping[str, int]):
    """Numbers of a ``kind`` by the name of an operator, or of a channel (`HOPS`). It does not change, and has a hash.

    Raises `FabricError` for what is no mapping, and for bad numbers; those of `LINKS` are powers of two.
    """

    def __init__(self, kind: str, numbers: Any) -> None:
        if not isinstance(numbers, Mapping):
            raise FabricError(f"{kind} must be an object of numbers by the names of {OWNERS[kind]}s, not {numbers!r}")
        self._numbers = {
            name: settled(numbers[name], NUMBERS[kind], f"{kind}.{name}", FabricError) for name in sorted(numbers)
        }

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
