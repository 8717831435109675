"""Limits of what a program may take."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from step.errors import InputError
from step.host.amounts import BYTES, Unit
from step.host.nearest import did_you_mean
from step.host.pairs import pairs
from step_explore.sweeps.row import UNITS, Row

MEMORY = "memory_bytes"
"""On-chip memory with the contents of FIFOs, and tiles in the queues of loads."""

LIMITED: Mapping[str, Unit] = {
    "cycles": UNITS["cycles"],
    "lut_sites": UNITS["lut_sites"],
    "lanes": UNITS["lanes"],
    MEMORY: BYTES,
    "on_chip_bytes": UNITS["on_chip_bytes"],
    "channel_bytes": UNITS["channel_bytes"],
    "load_bytes": UNITS["load_bytes"],
    "off_chip_bytes": UNITS["off_chip_bytes"],
    "bytes_per_cycle": UNITS["bytes_per_cycle"],
    "energy": UNITS["energy"],
}
"""Measures that a budget can be about, and what each is measured in."""


@dataclass(frozen=True)
class Budget:
    """At most so much of each of `LIMITED`; raises `InputError` for other names, and for what is no number above 0."""

    limits: Mapping[str, float]

    def __post_init__(self) -> None:
        for name, limit in self.limits.items():
            _check_name(name)
            if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 < limit < math.inf:
                raise InputError(f"a budget of {name} must be a number above 0, not {limit!r}")

    @classmethod
    def parse(cls, texts: Sequence[str]) -> Budget:
        """``lut_sites=300k``, ``memory_bytes=4Mbit``, ``memory_bytes=500kB``; raises `InputError` for other texts, and
        for units of something else."""
        must = f"a budget must be NAME=NUMBER, such as lut_sites=300k or {MEMORY}=4Mbit"
        numbers = pairs(texts, must, "the budget of {} is given twice", lambda number: number[:1].isdecimal())
        for name in numbers:
            _check_name(name)
        return cls({name: LIMITED[name].amount(number, f"a budget of {name}") for name, number in numbers.items()})

    def without(self, *names: str) -> Budget:
        """The same but for limits of these ``names``."""
        return Budget({name: limit for name, limit in self.limits.items() if name not in names})

    def exceeded(self, row: Row, about: str = "") -> str | None:
        """The limits that ``row`` is over, in words, with ``about`` in front of what it takes; None: over none."""
        over = [
            f"{name} {about}{value:,.0f} of {limit:,.0f}"
            for name, limit in self.limits.items()
            if (value := measure(row, name)) is not None and value > limit
        ]
        return "over the budget: " + ", ".join(over) if over else None


def _check_name(name: str) -> None:
    if name not in LIMITED:
        hint = did_you_mean(name, LIMITED)
        raise InputError(f"there is no budget of {name!r}; {hint}there are {', '.join(LIMITED)}")


def measure(row: Row, name: str) -> float | None:
    """The measure of `LIMITED` called ``name``, of ``row``; None: not known."""
    if name != MEMORY:
        value: float | None = getattr(row, name)
        return value
    if row.on_chip_bytes is None or row.channel_bytes is None or row.load_bytes is None:
        return None
    return row.on_chip_bytes + row.channel_bytes + row.load_bytes
