"""A point of a sweep runs."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from step.errors import ProgramError
from step.host.amounts import MILLI, NANO, PICO
from step.programs.program import Program
from step.running.bound import bound_by
from step.running.result import Status
from step_explore.sweeps.axis import Point
from step_explore.sweeps.row import REFUSED, Row
from step_explore.sweeps.subject import Subject, first_line


def evaluate(subject: Subject, point: Point, max_cycles: int | None = None) -> Row:
    """The row of ``subject`` at ``point``.

    A point that program, fabric or data do not fit, and a run that fails, is a row too. Raises the other errors, which
    would be those of all points.
    """
    started = time.perf_counter()
    try:
        ready, memory = subject.at(point)
        result = ready.simulator.attempt(memory=memory, max_cycles=max_cycles).result
        measures, unknown = ready.measures(result)
    except ProgramError as refusal:
        return Row(point, REFUSED, error=first_line(refusal))
    cycles = result.cycles if result.status == Status.FINISHED else None

    def a_cycle(amount: int | None) -> float | None:
        return round(amount / cycles, 3) if cycles and amount is not None else None

    seconds = None if cycles is None else subject.program(point).fabric.seconds(cycles)
    energy = measures.get("energy")
    return Row(
        point,
        str(result.status),
        cycles,
        flops_per_cycle=a_cycle(measures.get("flops")),
        useful_flops_per_cycle=a_cycle(measures.get("useful_flops")),
        bytes_per_cycle=a_cycle(result.off_chip_bytes),
        bound=None if cycles is None else bound_by(result, memory),
        time=None if seconds is None else round(seconds / NANO, 6),
        power=None if seconds is None or energy is None else round(energy * PICO / seconds / MILLI, 6),
        **dict[str, Any](measures),
        seconds=round(time.perf_counter() - started, 6),
        error=result.error or unknown,
        digest=subject.digest(point),
    )


def measured(program: Program, point: Point | None = None) -> Row:
    """The row of a ``program`` that is there, which is that of ``point``."""
    return replace(evaluate(Subject.of(program), {}), point=point or {})
