"""Cycles of a unit that applies a function: those of the function's plan, and of the words that come and go."""

from __future__ import annotations

from dataclasses import dataclass

from step.lowering.plans.plan import Plan


@dataclass(frozen=True)
class UnitPlan:
    """A firing with a value, whose ``operands`` take so many cycles on their links, and whose ``result`` so many.

    ``plan`` is that of the function, None where nobody reads the result: then only control passes. A result that is
    ``control`` is part of the header. One that is ``stored`` (the state that a reduction hands out) leaves while the
    next operands come, and keeps only the output busy.
    """

    plan: Plan | None
    operands: tuple[int, ...]
    result: int
    control: bool = False
    stored: bool = False

    @property
    def gathering(self) -> int:
        """Cycles from the first word of the operands to the start of the function, which may want all of them."""
        return 0 if self.plan is None or self.plan.streams else max(self.operands) - 1

    @property
    def initiation_interval(self) -> int:
        """Cycles from a firing to the next one."""
        function = 1 if self.plan is None else self.plan.initiation_interval
        return max(function, *self.operands, 1 if self.stored else self.result)

    @property
    def latency(self) -> int:
        """Cycles from a firing to the header of its result; one with control waits for the data of the operands."""
        return 0 if self.plan is None else self.gathering + self.plan.latency + self.control

    @property
    def burst(self) -> int:
        """Cycles from a result to the next one."""
        return self.result if self.stored else self.initiation_interval
