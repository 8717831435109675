"""Choices are fitted in the order of what they take at least, without those that others beat by then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import log1p

from step.host.progress import Progress
from step_explore.sweeps.axis import Point
from step_explore.sweeps.front import values
from step_explore.sweeps.processes import Workers
from step_explore.sweeps.question import Question
from step_explore.sweeps.record import Record
from step_explore.sweeps.row import BOUNDED, Row
from step_explore.sweeps.row import lost as lost_at

Task = tuple[Point, Row | None]
"""A point that runs, and with the bounds of that run one that is fitted."""


def bounded(
    question: Question, record: Record, progress: Progress, workers: Workers[Task, Row], points: Sequence[Point]
) -> Iterator[Row]:
    """The rows of ``points``, of which ``record`` has those that are there: first all run as they are, which is a row
    where nothing is to be fitted; then what no row beats when it is its turn is fitted."""
    bounds, beaten = list[Row](), list[Row]()
    for at, row in enumerate(workers.rows([(point, None) for point in points]), 1):
        if row.status != BOUNDED:
            yield row
            continue
        bounds.append(row.of_tokens(question.tokens_at(row.point)))
        progress(f"{at} of {len(points)} choices have run on the widest hardware")

    def left() -> Iterator[Task]:
        for bound in sorted(bounds, key=lambda each: sum(map(log1p, values(each, question.objectives) or ()))):
            reason = record.beaten(bound)
            if reason is None:
                yield bound.point, bound
            else:
                beaten.append(replace(bound, error=reason))

    for row in workers.rows(left()):
        yield row
        while beaten:
            yield beaten.pop()
    yield from beaten


def lost(task: Task, reason: str) -> Row:
    """The row of a task whose process was killed, again and again."""
    return lost_at(task[0], reason)
