"""The best parameters of a program under a budget, each choice with hardware that is fitted to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from step.errors import InputError, expect
from step.host.paths import named_file
from step.host.progress import Progress, silent
from step.language.parameters import Within, plain, settled
from step.programs.prepare import Openable
from step.programs.program import Program
from step.running.options import checked_options
from step_explore.fitting.goal import MOST_LOSS
from step_explore.sweeps.axis import Value
from step_explore.sweeps.campaign import run_points
from step_explore.sweeps.live import Live
from step_explore.sweeps.question import Question, axes_of, check_apart, names_of
from step_explore.sweeps.record import Record
from step_explore.sweeps.row import Row
from step_explore.sweeps.subject import Arguments, Subject, subjects
from step_explore.sweeps.sweep import Sweep, name_of
from step_explore.tuning.bounded import bounded, lost
from step_explore.tuning.budget import Budget
from step_explore.tuning.legal import derived
from step_explore.tuning.trial import Judge, Trial

OBJECTIVES = ("cycles", "lut_sites")


@dataclass(frozen=True, repr=False)
class Tuned(Sweep):
    """Rows of a search by `step.tune`, and the trial that each was.

    Fields are those of `Sweep`, and:

    ``trial``: how a row becomes a program on hardware.
    ``subject``: the program that was tuned.
    ``interrupted``: Ctrl-C came before the last one.

    >>> tuned = step.tune(program, {"fabric.stages": [1, 4]}, jobs=1)
    >>> tuned.best("cycles").point
    {'fabric.stages': 1}
    """

    trial: Trial = field(default_factory=lambda: Trial(Budget({})))
    subject: Subject | None = None
    interrupted: bool = False

    def best(self, measure: str | None = None) -> Row:
        """The row within the budget with the least of ``measure``, by default of the first objective.

        Raises `InputError` where there is none, with the reasons.
        """
        try:
            return super().best(measure or self.objectives[0])
        except InputError as error:
            reasons = dict.fromkeys(row.error for row in self.rows if row.error)
            if measure is None and reasons:
                error.add_note("\n".join(f"  {reason}" for reason in reasons))
            raise

    def fitted(self, row: Row | None = None) -> Program:
        """The program of ``row``, by default the `best` one, on the hardware that was fitted to it."""
        if self.subject is None:
            raise InputError("there is no program: these rows are of no search that ran here")
        chosen = row or self.best()
        return self.trial.programs(self.subject, chosen.point, chosen.fitted)[0]

    def __repr__(self) -> str:
        return f"<tuned {self.program}: {len(self.rows)} choices, {len(self.front)} on the front>"


def tune(
    program: Openable | Callable[..., Any],
    over: Mapping[str, Sequence[Value] | str],
    *,
    budget: Mapping[str, float] | None = None,
    objectives: Sequence[str] = OBJECTIVES,
    within: float | None = 0.05,
    runs: int = 20,
    cases: Sequence[Mapping[str, Value]] = ({},),
    judge: Judge = "worst",
    search: int | None = None,
    seed: int = 0,
    arguments: Mapping[str, Value] | None = None,
    settings: Sequence[str] = (),
    per: Sequence[str] | str = (),
    tokens: str | None = None,
    save: Path | str | None = None,
    plot: Path | str | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: Progress = silent,
) -> Tuned:
    """Values of ``over`` with which ``program`` does best within a ``budget``, each with hardware of its own.

    ``over``, ``arguments``, ``settings``, ``search``, ``seed``, ``per``, ``tokens``, ``save``, ``plot``, ``jobs`` and
    ``scheduler`` are those of `step.sweep`; values may be ``"1..64:legal"``, those with which there is a program.

    ``budget``: the most of some measures of a row (`budget.LIMITED`; ``memory_bytes`` is on-chip memory with FIFOs and
    queues of loads).
    ``objectives``: measures that the front is of, each to be small.
    ``within``: every choice gets hardware by `step.fit`: the least area with which this part of the cycles is lost, or
    where that is over a budget of ``lut_sites`` the fewest cycles within this. None takes the fabric as it is.
    ``runs``: runs that a fit takes from its best choice on.
    ``cases``: several sets of further arguments, such as the seeds of data.
    ``judge``: "worst" of the cases, or their "mean".
    ``progress``: told what is going on.

    A choice that with any hardware is worse than another one is a row ``bounded`` without a fit, with what it takes at
    least; so is one ``over`` the budget.

    Ctrl-C ends the search, and what is known by then is the result. Raises what `step.sweep` raises.

    >>> found = step.tune(program, {"fabric.stages": [1, 4]}, budget={"lut_sites": 100_000}, jobs=1)
    >>> found.best().point
    {'fabric.stages': 1}
    """
    given = checked_options({"search": search, "jobs": jobs, "max_cycles": None, "seed": seed})
    search, jobs = given.get("search"), given.get("jobs")
    trial = Trial(
        Budget(settled({} if budget is None else budget, Mapping, "budget", InputError)),
        _cases(cases),
        settled(judge, Literal["worst", "mean"], "judge", InputError),
        None if within is None else settled(within, Annotated[float, Within(0, MOST_LOSS)], "within", InputError),
        settled(runs, Annotated[int, Within(0, math.inf)], "runs", InputError),
    )
    path = None if save is None else named_file(save, "save")
    with subjects(program, None, settings, arguments, scheduler) as (subject, kept):
        first = subject.with_arguments(trial.cases[0])
        legal = derived(first, settled(over, Mapping, "over", InputError), progress)
        objectives = settled(objectives, Iterable[Any], "objectives", InputError)
        axes = axes_of(legal, arguments, settings)
        question = Question(axes, tuple(objectives), search, seed, names_of(per), tokens, dict(arguments or {}))
        for case in map(dict, trial.cases):
            check_apart("over", legal, "a case", case)
            check_apart("arguments", arguments or {}, "a case", case)
        question.check_first(first)
        record = Record(path, question, first, trial.asked)
        live, interrupted = Live(plot, question.objectives, name_of(program), question.per), False
        work, way = partial(trial.row, subject), partial(bounded, question, record, progress)
        try:
            rows = run_points(question, record, work, lost, way, jobs, scheduler, progress, live)
        except KeyboardInterrupt:
            rows, interrupted = record.rows, True
    live.end(rows)
    of = name_of(program), question.axes, question.objectives, tuple(replace(row, subject=kept) for row in rows)
    return Tuned(*of, trial, kept, interrupted, per=question.per)


def _cases(cases: Sequence[Mapping[str, Value]]) -> tuple[Arguments, ...]:
    given = tuple(settled(cases, Iterable[Any], "cases", InputError))
    expect(given, "there must be at least one case; {} is the program as it is", InputError)
    return tuple(
        tuple((name, plain(value)) for name, value in settled(each, Mapping, "a case", InputError).items())
        for each in given
    )
