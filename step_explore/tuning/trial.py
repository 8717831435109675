"""A choice of parameters runs, with hardware that is fitted to it."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Literal

from sim_approx.simulator import Simulator
from step.errors import FormatError, InputError, ProgramError
from step.lowering.fabric import with_settings
from step.lowering.feasible import with_lanes
from step.programs.files.fitted import FittedFile
from step.programs.program import Program
from step.running.result import Status
from step_explore.fifos.shrink import LEAST
from step_explore.fitting.fitting import fit
from step_explore.fitting.least import least_sites
from step_explore.fitting.result import Fitted
from step_explore.fitting.trials import firings
from step_explore.sweeps.axis import Point, named
from step_explore.sweeps.evaluation import evaluate
from step_explore.sweeps.row import BOUNDED, NUMBERS, OVER, REFUSED, Row
from step_explore.sweeps.subject import Arguments, Held, Subject, first_line
from step_explore.tuning.budget import Budget

Judge = Literal["worst", "mean"]


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

    @property
    def asked(self) -> str:
        """All that a row depends on beside the program and its point."""
        budget = ", ".join(f"{name}={limit:,}" for name, limit in sorted(self.budget.limits.items()))
        hardware = "as it is" if self.within is None else f"within {100 * self.within:.12g} %, by {self.runs} runs"
        cases = " and ".join(named(dict(each)) or "none" for each in self.cases)
        return f"a budget of {budget or 'nothing'}; hardware {hardware}; cases {cases}; their {self.judge}"

    def row(self, subject: Subject, task: tuple[Point, Row | None]) -> Row:
        """The row of ``subject`` at the point of ``task``; what can not be, or is over the budget, is a row that says
        so.

        Where hardware is to be fitted this takes a task with the bounds; without, these are the row.
        """
        started = time.perf_counter()
        point, bounds = task
        if bounds is not None:
            found = replace(self._fitted(subject, point), digest=bounds.digest)
        else:
            found = self._of_all([evaluate(subject.with_arguments(each), point) for each in self.cases])
            if self.within is not None and found.status == Status.FINISHED:
                return self._bounds(subject, found, started)
        if found.status == Status.FINISHED and (reason := self.budget.exceeded(found)):
            found = replace(found, status=OVER, error=reason)
        before = 0.0 if bounds is None else bounds.seconds or 0.0
        return replace(found, asked=self.asked, seconds=round(before + time.perf_counter() - started, 6))

    def _bounds(self, subject: Subject, found: Row, started: float) -> Row:
        """What no hardware has less of, where the run ``found`` is that on the widest."""
        programs = [subject.with_arguments(each).program(found.point) for each in self.cases]
        least = self._least(found, programs)
        reason = self.budget.exceeded(least, "at least ")
        return replace(
            least,
            status=BOUNDED if reason is None else OVER,
            error=reason,
            asked=self.asked,
            seconds=round(time.perf_counter() - started, 6),
        )

    def _least(self, found: Row, programs: Sequence[Program]) -> Row:
        """``found`` with the least of each measure that a fit may give; None where there is no bound.

        With a budget of LUT sites a fit may lose more cycles than ``within``, for less area.
        """
        assert self.within is not None and found.cycles is not None
        most = math.inf if "lut_sites" in self.budget.limits else found.cycles * (1 + self.within)
        sites, lanes, deepest = list[float](), list[int](), LEAST
        for each in programs:
            simulator = Simulator(each)
            sites.append(least_sites(each, firings(simulator.attempt().result), most))
            lanes.append(len(with_lanes(simulator.netlist)))
            deepest = max([deepest, *(channel.depth for channel in simulator.netlist.channels)])
        return replace(
            found,
            lut_sites=math.floor(min(sites)),
            lanes=min(lanes),
            channel_bytes=None if found.channel_bytes is None else found.channel_bytes * LEAST // deepest,
            load_bytes=0,
            flops_per_cycle=None,
            useful_flops_per_cycle=None,
            bytes_per_cycle=None,
            bound=None,
            energy=None,
        )

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
