"""Profile of operators and off-chip memory in equal intervals of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from step.running.result import Activity


@dataclass(frozen=True)
class RunProfile:
    """A run of ``cycles`` in intervals of ``width`` cycles, of which the last one may be longer than the run.

    ``operators``: by name the cycles [activity, interval] that the operator spent in each `Activity`. ``beats``
    [2, interval]: those that off-chip memory granted to reads, and to writes, until the end of the run.
    """

    cycles: int
    width: int
    operators: dict[str, np.ndarray]
    beats: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """Cycles of the run in every interval."""
        starts = np.arange(0, self.cycles, self.width)
        return np.minimum(self.cycles - starts, self.width)

    @property
    def edges(self) -> np.ndarray:
        """The cycles at which intervals begin, and the end of the run."""
        return np.append(np.arange(0, self.cycles, self.width), self.cycles)

    def busy(self, operator: str) -> np.ndarray:
        """The part of every interval, 0 to 1, in which ``operator`` was busy."""
        return self.operators[operator][Activity.BUSY] / self.lengths
