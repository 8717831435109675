"""Names of the parameters of a fabric, and what is said of those that there are not; sizes that are shared."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from step.errors import FabricError, expect
from step.host.nearest import did_you_mean

MOST_STAGES = 8
"""Stages that the finest cut of an addition has."""


MOST_BITS = 1 << 28
"""Of one memory: what the largest FPGAs have on the chip in all."""


FORMER = {
    "tile": "a tile of static size may have any shape; leave it out, or give dynamic_rows, the most rows of a tile of "
    "dynamic size"
}
"""What became of parameters that files of earlier versions have."""


def check_names(what: str, data: Any, kind: type[Any], must: str = "an object of parameters") -> None:
    """Raise `FabricError` unless ``data`` is a dictionary of fields of ``kind``."""
    expect(isinstance(data, dict), f"{what.removeprefix('fabric ')} must be {must}, not {data!r}", FabricError)
    known = sorted(each.name for each in fields(kind))
    for name in data:
        if name not in known:
            raise unknown(what, name, known)


def unknown(what: str, name: str, known: list[str]) -> FabricError:
    """The error for a parameter that there is not."""
    if name in FORMER:
        return FabricError(f"{what} has no parameter {name!r} any more: {FORMER[name]}")
    return FabricError(f"{what} has no parameter {name!r}; {did_you_mean(name, known)}it has {', '.join(known)}")


def power_of_two(least: int) -> int:
    """The lowest power of two that is not below ``least``."""
    return 1 << (least - 1).bit_length()
