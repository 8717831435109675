"""What a calibration holds, entry by entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sim_approx.calibration.applied import Applied


@dataclass(frozen=True)
class Unit:
    """Cycles of a unit, in steady state and without anything that makes it wait.

    ``beats`` of a value at the port with most of them; ``interval`` from a firing to the next one; ``latency`` from a
    firing to its result, as in `step.lowering.plans.plan.Plan`.
    ``samples`` firings were looked at; ``spread`` is the largest distance of one from these, ``residual`` that of a
    token which the unit sent from the fast model. ``rtl`` is the digest of what was measured.
    """

    applied: Applied
    beats: int
    interval: int
    latency: int
    samples: int
    spread: int
    residual: int
    rtl: str
    date: str

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        plain = asdict(self)
        return {**plain.pop("applied"), **plain}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Unit:
        """The opposite of `to_json`."""
        others = dict(data)
        applied = Applied(*(others.pop(name) for name in ("operator", "function", "operands", "result")))
        return cls(applied, **others)


@dataclass(frozen=True)
class PlainMemory:
    """``interval`` and ``latency`` of a plain memory that was set to ``parameters``; see `Unit` for the others."""

    parameters: Mapping[str, int]
    interval: int
    latency: int
    samples: int
    spread: int
    residual: int
    rtl: str
    date: str


@dataclass(frozen=True)
class HeldOut:
    """How well a program is predicted of whose run nothing was taken; see `cosim.comparing.compare.Comparison`."""

    program: str
    tokens: int
    mismatches: int
    exact_cycles: int
    approximate_cycles: int
    error: float
    rtl: str
    date: str

    def __str__(self) -> str:
        return (
            f"held out: {self.program}, {self.exact_cycles:,} cycles in RTL, {self.approximate_cycles:,} by this "
            f"calibration ({self.error:.2%}); {self.mismatches:,} of {self.tokens:,} tokens off time"
        )
