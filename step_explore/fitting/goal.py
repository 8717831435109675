"""The goal of a fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from step_explore.areas import Area
from step_explore.fitting.trials import Choice

MOST_LOSS = 10**6
"""The most of the cycles that may be lost, as a part of those of the fabric that was asked for; beyond is a slip of the
pen."""


@dataclass(frozen=True)
class Goal:
    """At most so much of each resource of `Area` (``limits``, by its name), and so many ``cycles`` if that is not None.

    Where cycles are bounded, the least LUT sites are best, else the fewest cycles.
    """

    limits: Mapping[str, float]
    cycles: int | None = None

    def over(self, area: Area) -> float:
        """The part by which ``area`` is over the budget."""
        return max((0.0, *(getattr(area, name) / max(most, 0.5) - 1 for name, most in self.limits.items())))

    def is_fast_enough(self, choice: Choice) -> bool:
        """Whether ``choice`` has no more than these cycles."""
        return self.cycles is None or choice.cycles <= self.cycles

    def misses(self, choice: Choice) -> float:
        """By how much ``choice`` misses the budget, and the cycles; 0 where it does not."""
        late = 0.0 if self.cycles is None else max(0.0, choice.cycles / self.cycles - 1)
        return self.over(choice.area) + late

    def cost(self, choice: Choice) -> tuple[float, ...]:
        """Least of all where ``choice`` is best: by how much it misses, then the area, or the cycles."""
        sites, cycles = choice.area.lut_sites, choice.cycles
        return self.misses(choice), *((sites, cycles) if self.cycles is not None else (cycles, sites))

    def hopeless(self, area: Area, best: Choice) -> bool:
        """Whether what has this ``area`` is no better than ``best``, whatever its cycles."""
        if self.misses(best) > 0:
            return False
        return self.over(area) > 0 or (self.cycles is not None and area.lut_sites >= best.area.lut_sites)
