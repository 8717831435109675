"""A program is swept over parameters of its own and of its fabric."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from step.errors import InputError, expect
from step.host.nearest import did_you_mean
from step.host.paths import named_file
from step.host.progress import Progress, silent
from step.language.graph import Graph
from step.language.parameters import settled
from step.programs.prepare import Openable
from step.programs.program import Program
from step.programs.tables import Columns
from step.running.options import checked_options
from step.running.result import Status
from step_explore.sweeps.axis import Axis, Value
from step_explore.sweeps.campaign import run_points
from step_explore.sweeps.evaluation import evaluate
from step_explore.sweeps.front import fronts
from step_explore.sweeps.live import Live
from step_explore.sweeps.question import Question, axes_of, names_of
from step_explore.sweeps.record import Record
from step_explore.sweeps.row import MEASURES, NUMBERS, Row, lost
from step_explore.sweeps.subject import subjects

OBJECTIVES = ("cycles", "on_chip_bytes")


@dataclass(frozen=True, repr=False)
class Sweep:
    """Rows of a sweep, one per point, in the order of the grid or of the search; a table in notebooks.

    ``program``: name of the program.
    ``axes``: what was varied.
    ``objectives``: measures that the front is of.
    ``rows``: points with their measures, their ``status`` and ``error``.
    ``per``: parameters each value of which has a front of its own.

    >>> swept = step.sweep(program, {"fabric.stages": [1, 4]}, jobs=1)
    >>> [(row.point, row.cycles) for row in swept.rows]
    [({'fabric.stages': 1}, 11), ({'fabric.stages': 4}, 32)]
    """

    program: str
    axes: tuple[Axis, ...]
    objectives: tuple[str, ...]
    rows: tuple[Row, ...]
    per: tuple[str, ...] = field(default=(), kw_only=True)

    @cached_property
    def front(self) -> list[Row]:
        """The rows that no other one with the same ``per`` beats in the objectives, the best in the first one first."""
        return fronts(self.rows, self.objectives, self.per)

    @cached_property
    def columns(self) -> Columns:
        """The table as arrays; ``pandas.DataFrame(sweep.columns)`` takes it."""
        names = (*(each.name for each in self.axes), *MEASURES)
        plain = [row.plain() for row in self.rows]
        return Columns({name: np.array([each[name] for each in plain]) for name in names})

    def best(self, measure: str) -> Row:
        """The first row that finished with the least of ``measure``; raises `InputError` for what none of these has.

        >>> step.sweep(program, {"fabric.stages": [1, 4]}, jobs=1).best("cycles").point
        {'fabric.stages': 1}
        """
        if measure not in NUMBERS:
            known = f"{did_you_mean(measure, NUMBERS)}there are {', '.join(NUMBERS)}"
            raise InputError(f"a row has no measure {measure!r}; {known}")
        there = (row for row in self.rows if row.status == Status.FINISHED)
        rows = [row for row in there if getattr(row, measure) is not None]
        expect(rows, f"no point of this sweep has {measure}", InputError)
        return min(rows, key=lambda row: getattr(row, measure))

    def plot(self, path: Path | str) -> None:
        """Draw the points in the first two objectives, and their front, to ``path`` (.svg, .png or .pdf).

        Raises `InputError` for other files and for a single objective.
        """
        Live(named_file(path, "a plot"), self.objectives, self.program, self.per).end(self.rows)

    def __repr__(self) -> str:
        return f"<sweep of {self.program}: {len(self.rows)} points, {len(self.front)} on the front>"

    def _repr_html_(self) -> str:
        return self.columns._repr_html_()


def sweep(
    program: Openable | Callable[..., Any],
    over: Mapping[str, Sequence[Value] | str],
    *,
    inputs: Path | str | None = None,
    arguments: Mapping[str, Value] | None = None,
    settings: Sequence[str] = (),
    depths: Mapping[str, int] | None = None,
    objectives: Sequence[str] = OBJECTIVES,
    search: int | None = None,
    seed: int = 0,
    per: Sequence[str] | str = (),
    tokens: str | None = None,
    save: Path | str | None = None,
    plot: Path | str | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    max_cycles: int | None = None,
    progress: Progress = silent,
) -> Sweep:
    """Runs of ``program`` on the fast model with all combinations of the values in ``over``, as rows.

    ``program``: a `Program`, a `Graph`, the name of a file, or a function that makes one.
    ``over``: per parameter its values, or a text such as ``"16..256"`` (`axis.parse_axis`). ``fabric.X`` and
    ``memory.X`` are parameters of the fabric, all others those of the function, or of the one that a file has.
    ``inputs``: an .npz file in the place of the program's own data.
    ``arguments``: further arguments of that function, for all points.
    ``settings``: parameters of the fabric for all points: ``"fabric.stages=2"``.
    ``depths``: slots of channels, by name, for all points.
    ``objectives``: measures that the front is of, each to be small.
    ``search``: of all combinations only so many, which a search chooses.
    ``seed``: of that search.
    ``per``: parameters that say how much there is to do, such as a batch, each value of which has a front of its own.
    ``tokens``: the parameter, or argument, that is the number of tokens of ``cycles_per_token``.
    ``save``: a .csv or .parquet file; rows that are in it already are not run again.
    ``plot``: file of a picture (`Sweep.plot`), drawn as rows come, too.
    ``jobs``: processes, by default one per core.
    ``scheduler``: address of a Dask scheduler, whose workers take their place.
    ``max_cycles``: cycles after which a run fails.
    ``progress``: told what is going on.

    An impossible point, and a run that fails, is a row with its ``status`` and ``error``; only the first point has to
    be possible. Raises its errors, `InputError` for bad arguments, `FormatError` for a file of another sweep, and
    `EnvironmentProblem` for a missing package and for a lost cluster.

    >>> found = step.sweep(program, {"fabric.stages": [1, 4], "fabric.vector_lanes": "1..4"}, jobs=1)
    >>> found, found.front[0].cycles
    (<sweep of sums: 6 points, 3 on the front>, 11)
    """
    given = checked_options({"search": search, "jobs": jobs, "max_cycles": max_cycles, "seed": seed})
    search, jobs, max_cycles = map(given.get, ("search", "jobs", "max_cycles"))
    settled(progress, Callable, "progress", InputError)
    settings = settled(settings, Iterable[Any], "settings", InputError)
    objectives = settled(objectives, Iterable[Any], "objectives", InputError)
    axes = axes_of(over, arguments, settings)
    question = Question(axes, tuple(objectives), search, seed, names_of(per), tokens, dict(arguments or {}))
    path = None if save is None else named_file(save, "save")
    live = Live(plot, question.objectives, name_of(program), question.per)
    with subjects(program, inputs, settings, arguments, scheduler, depths) as (subject, kept):
        question.check_first(subject)
        record = Record(path, question, subject, None, max_cycles)
        work = partial(evaluate, subject, max_cycles=max_cycles)
        rows = run_points(
            question, record, work, lost, lambda workers, some: workers.rows(some), jobs, scheduler, progress, live
        )
    live.end(rows)
    rows = [replace(row, subject=kept) for row in rows]
    return Sweep(name_of(program), question.axes, question.objectives, tuple(rows), per=question.per)


def name_of(program: Openable | Callable[..., Any]) -> str:
    """The name of a sweep of ``program``."""
    if isinstance(program, Program | Graph):
        return program.name
    return getattr(program, "__name__", str(program))
