"""A choice of parameters runs, with hardware that is fitted to it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Literal

from step.errors import FormatError, InputError, ProgramError
from step.fitting.fitting import fit
from step.fitting.result import Fitted
from step.lowering.fabric import with_settings
from step.programs.files.fitted import FittedFile
from step.programs.program import Program
from step.running.result import Status
from step.sweeps.axis import Point
from step.sweeps.evaluation import evaluate
from step.sweeps.row import NUMBERS, OVER, REFUSED, Row
from step.sweeps.subject import Arguments, Held, Subject, first_line
from step.tuning.budget import Budget

Judge = Literal["worst", "mean"]

FITTED = ("lut_sites", "lanes", "channel_bytes", "memory_bytes", "energy")
"""Limits that are looked at when the hardware is fitted, and not before."""


@dataclass(frozen=True)
class Trial:
    """How a point is judged: by the worst or the mean of what it takes in all ``cases`` (further arguments of the
    function; at least one case, which may be empty), and whether that is within the ``budget``.

    ``within``: hardware is fitted so that this part of the cycles is lost at most (`step.fit`, with so many ``runs``),
    and where that is over a budget of LUT sites, to this. None takes the fabric as it is.
    """

    budget: Budget
    cases: tuple[Arguments, ...] = ((),)
    judge: Judge = "worst"
    within: float | None = None
    runs: int = 20

    def row(self, subject: Subject, point: Point) -> Row:
        """The row of ``subject`` at ``point``; what can not be, or is over the budget, is a row that says so."""
        started = time.perf_counter()
        found = self._of_all([evaluate(subject.with_arguments(each), point) for each in self.cases])
        budget = self.budget
        if self.within is not None:
            reason = budget.without(*FITTED).exceeded(found)
            if found.status == Status.FINISHED and reason is None:
                found = replace(self._fitted(subject, point), digest=found.digest)
        if found.status == Status.FINISHED and (reason := budget.exceeded(found)):
            found = replace(found, status=OVER, error=reason)
        return replace(found, seconds=round(time.perf_counter() - started, 6))

    def programs(self, subject: Subject, point: Point, fitted: str | None = None) -> list[Program]:
        """The program of every case at ``point``, on the hardware that was ``fitted`` to the first one; or is now."""
        made = [subject.with_arguments(each).program(point) for each in self.cases]
        if self.within is None:
            return made
        file = self._fit(made[0]).file() if fitted is None else FittedFile.of_text(fitted)
        return [_applied(file, each) for each in made]

    def _fitted(self, subject: Subject, point: Point) -> Row:
        try:
            fitted = self._fit(subject.with_arguments(self.cases[0]).program(point)).file().text
            programs = self.programs(subject, point, fitted)
        except InputError as refusal:
            return Row(point, OVER, error=first_line(refusal))
        except ProgramError as refusal:
            return Row(point, REFUSED, error=first_line(refusal))
        found = self._of_all([evaluate(Subject(Held(each)), {}) for each in programs])
        return replace(found, point=point, fitted=fitted)

    def _fit(self, program: Program) -> Fitted:
        found = fit(program, within=self.within, runs=self.runs)
        luts = self.budget.limits.get("lut_sites")
        if luts is None or found.best.area.lut_sites <= luts:
            return found
        return fit(program, luts=int(luts), runs=self.runs)

    def _of_all(self, rows: Sequence[Row]) -> Row:
        """One row for all cases: the first that failed, else the worst or the mean of every measure."""
        for row in rows:
            if row.status != Status.FINISHED:
                return row
        slowest = max(rows, key=lambda row: row.cycles or 0)
        known = {name: [getattr(row, name) for row in rows] for name in NUMBERS}
        judged: dict[str, Any] = {name: None if None in each else self._judged(each) for name, each in known.items()}
        return replace(slowest, **judged, digest=rows[0].digest)

    def _judged(self, values: Sequence[float]) -> float:
        value = max(values) if self.judge == "worst" else fmean(values)
        return round(value) if isinstance(values[0], int) else round(value, 6)


def _applied(file: FittedFile, program: Program) -> Program:
    """``program`` on the fabric of ``file``; with its depths too, unless other data made another graph of it."""
    try:
        return file.applied(program)
    except FormatError:
        fabric = with_settings(program.fabric, [f"{name}={value}" for name, value in file.settings.items()])
        return replace(program, fabric=fabric)
