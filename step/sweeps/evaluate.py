"""A point of a sweep is run, on the fast model."""

from __future__ import annotations

import time

from step.errors import ProgramError
from step.running.result import Status
from step.sweeps.axis import Point
from step.sweeps.row import REFUSED, Row
from step.sweeps.subject import Subject, first_line


def evaluate(subject: Subject, point: Point, max_cycles: int | None = None) -> Row:
    """The row of ``subject`` at ``point``.

    A point that program, fabric or data do not fit, and a run that fails, is a row too. Raises the other errors, which
    would be those of all points.
    """
    started = time.perf_counter()
    try:
        ready, memory = subject.at(point)
        result = ready.simulator.attempt(memory=memory, max_cycles=max_cycles).result
    except ProgramError as refusal:
        return Row(point, REFUSED, error=first_line(refusal))
    return Row(
        point,
        str(result.status),
        result.cycles if result.status == Status.FINISHED else None,
        **ready.measures,
        seconds=round(time.perf_counter() - started, 6),
        error=result.error or ready.unknown,
        program=ready.digest,
    )
