"""The most that a program may take."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from step.errors import InputError
from step.host.names import ByName
from step.host.pairs import pairs
from step.running.result import Status
from step_explore.sweeps.row import BOUNDED, NUMBERS, OVER, Measure, Row

AREA, MEMORY = "lut_sites", "memory_bytes"
"""LUT sites; and on-chip memory with the contents of FIFOs, and tiles in the queues of loads."""

_NAMES = (
    *("cycles", AREA, "lanes", MEMORY, "on_chip_bytes", "channel_bytes", "load_bytes", "off_chip_bytes"),
    *("bytes_per_cycle", "energy"),
)

LIMITED = ByName({name: NUMBERS.get(name, Measure()).limit for name in _NAMES}, "budget of")
"""Measures that a budget can be about, and what each is measured in."""


@dataclass(frozen=True)
class Budget:
    """At most so much of each of `LIMITED`; raises `InputError` for other names, and for what is no number above 0."""

    limits: Mapping[str, float]

    def __post_init__(self) -> None:
        for name, limit in self.limits.items():
            _ = LIMITED[name]
            if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 < limit < math.inf:
                raise InputError(f"a budget of {name} must be a number above 0, not {limit!r}")

    @classmethod
    def parse(cls, texts: Sequence[str]) -> Budget:
        """``lut_sites=300k``, ``memory_bytes=4Mbit``, ``memory_bytes=500kB``; raises `InputError` for other texts, and
        for units of something else."""
        must = f"a budget must be NAME=NUMBER, such as lut_sites=300k or {MEMORY}=4Mbit"
        numbers = pairs(texts, must, "the budget of {} is given twice", lambda number: number[:1].isdecimal())
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

    def judged(self, row: Row, about: str = "") -> Row:
        """``row``, which is `OVER` where it ran, or has bounds, and `exceeded` says why."""
        reason = self.exceeded(row, about) if row.status in (Status.FINISHED, BOUNDED) else None
        return replace(row, status=OVER, error=reason) if reason else row


def measure(row: Row, name: str) -> float | None:
    """The measure ``name`` of `LIMITED` in ``row``; None: not known."""
    if name == MEMORY:
        parts = (row.on_chip_bytes, row.channel_bytes, row.load_bytes)
        return None if None in parts else sum(parts)  # type: ignore[arg-type]
    return getattr(row, name)
