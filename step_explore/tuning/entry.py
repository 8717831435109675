"""A program of many that do the same, on the widest hardware and on that which was chosen for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from step.programs.program import Program
from step_explore.fifos.sizing import size_fifos
from step_explore.fitting.quickly import Quickly
from step_explore.sweeps.axis import Point
from step_explore.sweeps.evaluation import evaluate
from step_explore.sweeps.row import Row
from step_explore.sweeps.subject import Held, Subject
from step_explore.tuning.budget import MEMORY, measure

AREA = "lut_sites"
"""The limit that hardware is chosen for."""


@dataclass(eq=False)
class Entry:
    """A program at a ``point``, its ``row``, and the ``whole`` row that it has on the widest hardware.

    ``program`` is that on the hardware that was chosen, None where none was. ``same``: the first one of this program.
    """

    point: Point
    whole: Row
    row: Row
    program: Program | None = None
    quickly: Quickly | None = field(default=None, repr=False)
    same: Entry | None = field(default=None, repr=False)

    @property
    def fewest(self) -> int:
        """Cycles with any hardware."""
        return self.whole.cycles or 0

    @cached_property
    def needs(self) -> dict[str, float]:
        """Of the limits of a budget, about the least with which it runs."""
        assert self.quickly is not None
        return {AREA: self.quickly.least.lut_sites, MEMORY: measure(self.whole, MEMORY) or 0}

    def smallest(self) -> dict[str, float]:
        """What it takes on the least hardware, with channels that only do not deadlock."""
        assert self.quickly is not None
        narrow = replace(self.quickly.program, fabric=self.quickly.narrowest)
        sizing = size_fifos(narrow, threads=1)
        row = evaluate(Subject(Held(sizing.binding(sizing.least).applied(narrow))), {})
        return {AREA: max(self.needs[AREA], row.lut_sites or 0), MEMORY: measure(row, MEMORY) or 0}


@dataclass(frozen=True)
class Searched:
    """The ``entries`` of so many ``choices``; ``interrupted``: Ctrl-C came, and they are the best so far.

    ``smaller``: the fastest one with at most so many LUT sites, which are parts of the budget.
    """

    entries: tuple[Entry, ...]
    choices: int
    smaller: Mapping[int, Entry]
    interrupted: bool = False
