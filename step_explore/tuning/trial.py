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
from step_explore.sweeps.evaluation import evaluate, measured
from step_explore.sweeps.row import BOUNDED, NUMBERS, OVER, REFUSED, Row
from step_explore.sweeps.subject import Arguments, Subject, first_line
from step_explore.tuning.budget import AREA, Budget

Judge = Literal["worst", "mean"]


@dataclass(frozen=True)
class Trial:
    """A judgement of points: by the worst or the mean of what it takes in all ``cases`` (further arguments of the
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
        (point, bounds), about, before = task, "", 0.0
        if bounds is not None:
            found, before = replace(self._fitted(subject, point), digest=bounds.digest), bounds.seconds or 0.0
        else:
            found = self._of_all([evaluate(subject.with_arguments(each), point) for each in self.cases])
            if self.within is not None and found.status == Status.FINISHED:
                found, about = self._least(subject, found), "at least "
        seconds = round(before + time.perf_counter() - started, 6)
        return replace(self.budget.judged(found, about), asked=self.asked, seconds=seconds)

    def _least(self, subject: Subject, found: Row) -> Row:
        """The least of each measure that a fit may give, where the run ``found`` is that on the widest hardware; None
        where there is no bound.

        With a budget of LUT sites a fit may lose more cycles than ``within``, for less area.
        """
        assert self.within is not None and found.cycles is not None
        most = math.inf if AREA in self.budget.limits else found.cycles * (1 + self.within)
        sites, lanes, deepest = list[float](), list[int](), LEAST
        for each in self.cases:
            program = subject.with_arguments(each).program(found.point)
            simulator = Simulator(program)
            sites.append(least_sites(program, firings(simulator.attempt().result), most))
            lanes.append(len(with_lanes(simulator.netlist)))
            deepest = max([deepest, *(channel.depth for channel in simulator.netlist.channels)])
        unknown = "flops_per_cycle", "useful_flops_per_cycle", "bytes_per_cycle", "bound", "energy", "power"
        return replace(
            found,
            status=BOUNDED,
            lut_sites=math.floor(min(sites)),
            lanes=min(lanes),
            channel_bytes=None if found.channel_bytes is None else found.channel_bytes * LEAST // deepest,
            load_bytes=0,
            **dict.fromkeys(unknown),  # type: ignore[arg-type]
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
        return replace(self._of_all([measured(each, point) for each in programs]), fitted=fitted)

    def _fit(self, program: Program) -> Fitted:
        found = fit(program, within=self.within, runs=self.runs)
        luts = self.budget.limits.get(AREA)
        if luts is None or found.best.area.lut_sites <= luts:
            return found
        return fit(program, luts=int(luts), runs=self.runs)

    def _of_all(self, rows: Sequence[Row]) -> Row:
        """One row for all cases: the first that failed, else the worst or the mean of every measure."""
        for row in rows:
            if row.status != Status.FINISHED:
                return row
        judged: dict[str, Any] = {}
        for name in NUMBERS:
            known = [getattr(row, name) for row in rows]
            judged[name] = None if None in known else self._judged(known)
        return replace(max(rows, key=lambda row: row.cycles or 0), **judged, digest=rows[0].digest)

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
