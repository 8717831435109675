"""Choices are fitted in the order of what they take at least, without those that others beat by then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import log1p
from operator import le

from step.host.progress import Progress
from step_explore.sweeps.axis import Point, named
from step_explore.sweeps.front import costs, values
from step_explore.sweeps.points import Points
from step_explore.sweeps.processes import Workers
from step_explore.sweeps.record import Record
from step_explore.sweeps.row import BOUNDED, Row
from step_explore.sweeps.row import lost as lost_at

Task = tuple[Point, Row | None]
"""A point that runs, and with the bounds of that run one that is fitted."""


@dataclass(frozen=True)
class Bounded:
    """The rows of ``points``, of which ``record`` has those that are there."""

    points: Points
    record: Record
    progress: Progress

    def rows(self, running: Workers[Task, Row], points: Sequence[Point]) -> Iterator[Row]:
        """First all run as they are, which is a row where nothing is to be fitted; then what is left is fitted."""
        bounds = list[Row]()
        for at, row in enumerate(running.rows([(point, None) for point in points]), 1):
            if row.status != BOUNDED:
                yield row
                continue
            bounds.append(row.of_tokens(self.points.workload.at(row.point)))
            self.progress(f"{at} of {len(points)} choices have run on the widest hardware")
        beaten = list[Row]()
        for row in running.rows(self._left(sorted(bounds, key=self._promise), beaten)):
            yield row
            while beaten:
                yield beaten.pop()
        yield from beaten

    def _left(self, bounds: Sequence[Row], beaten: list[Row]) -> Iterator[Task]:
        """Those of ``bounds`` that no row beats when it is their turn; the others become ``beaten``."""
        for bound in bounds:
            reason = self._beaten(bound)
            if reason is None:
                yield bound.point, bound
            else:
                beaten.append(replace(bound, error=reason))

    def _beaten(self, bound: Row) -> str | None:
        """Which row takes no more than ``bound`` of any objective and less of one, in words; None: none does."""
        objectives = self.points.objectives
        least = values(bound, objectives)
        if least is None:
            return None
        for row in self.record.rows:
            same = self.points.workload.group(row.point) == self.points.workload.group(bound.point)
            cost = costs(row, objectives) if same else None
            if cost is not None and cost != least and all(map(le, cost, least)):
                takes = ", ".join(f"{name} {each:,}" for name, each in zip(objectives, least, strict=True))
                return f"not fitted: with any hardware at least {takes}, of which {named(row.point)} takes no more"
        return None

    def _promise(self, bound: Row) -> float:
        return sum(map(log1p, values(bound, self.points.objectives) or ()))


def lost(task: Task, reason: str) -> Row:
    """The row of a task whose process was killed, again and again."""
    return lost_at(task[0], reason)
