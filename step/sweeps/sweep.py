"""A program is swept over parameters of its own and of its fabric."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from step.errors import InputError, ProgramError
from step.host.files import write_atomically, writing
from step.host.nearest import did_you_mean
from step.host.paths import named_file
from step.host.progress import Progress, silent
from step.language.graph import Graph
from step.language.parameters import plain, settled
from step.programs.prepare import Openable
from step.programs.program import Program
from step.programs.tables import Columns
from step.running.backend import checked_options
from step.running.bound import bound_by
from step.running.result import Status
from step.sweeps.axis import Axis, Point, Value, grid, parse_axis
from step.sweeps.cluster import Cluster
from step.sweeps.front import check_objectives, pareto_front
from step.sweeps.plot import check_plot, plot
from step.sweeps.processes import Processes, Work, Workers, cores
from step.sweeps.record import Record
from step.sweeps.row import MEASURES, NUMBERS, REFUSED, Row, lost
from step.sweeps.search import Search
from step.sweeps.subject import File, Function, Held, Subject, first_line


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
    cycles = result.cycles if result.status == Status.FINISHED else None
    flops = ready.measures.get("flops")
    return Row(
        point,
        str(result.status),
        cycles,
        flops_per_cycle=None if flops is None else _a_cycle(flops, cycles),
        bytes_per_cycle=_a_cycle(result.off_chip_bytes, cycles),
        bound=None if cycles is None else bound_by(result, memory),
        **dict[str, Any](ready.measures),
        seconds=round(time.perf_counter() - started, 6),
        error=result.error or ready.unknown,
        digest=ready.digest,
    )


def _a_cycle(amount: int, cycles: int | None) -> float | None:
    return round(amount / cycles, 3) if cycles else None


OBJECTIVES = ("cycles", "on_chip_bytes")


@dataclass(frozen=True, repr=False)
class Sweep:
    """The ``rows`` of a sweep over ``axes``, in the order of the grid or of the search, and its ``objectives``."""

    program: str
    axes: tuple[Axis, ...]
    objectives: tuple[str, ...]
    rows: tuple[Row, ...]

    @cached_property
    def front(self) -> list[Row]:
        """The rows that no other one beats in the objectives, the best in the first of these first."""
        return pareto_front(self.rows, self.objectives)

    @cached_property
    def columns(self) -> Columns:
        """The table as arrays; ``pandas.DataFrame(sweep.columns)`` takes it."""
        names = (*(each.name for each in self.axes), *MEASURES)
        plain = [row.plain() for row in self.rows]
        return Columns({name: np.array([each[name] for each in plain]) for name in names})

    def best(self, measure: str) -> Row:
        """The first row with the least of ``measure``; raises `InputError` for what none of the rows has.

        >>> step.sweep(program, {"fabric.stages": [1, 4]}, jobs=1).best("cycles").point
        {'fabric.stages': 1}
        """
        if measure not in NUMBERS:
            known = f"{did_you_mean(measure, NUMBERS)}there are {', '.join(NUMBERS)}"
            raise InputError(f"a row has no measure {measure!r}; {known}")
        rows = [row for row in self.rows if getattr(row, measure) is not None]
        if not rows:
            raise InputError(f"no point of this sweep has {measure}")
        return min(rows, key=lambda row: getattr(row, measure))

    def plot(self, path: Path | str) -> None:
        """Draw the points in the first two objectives, and their front, to ``path`` (.svg, .png or .pdf).

        Raises `InputError` for other files and for a single objective.
        """
        path = named_file(path, "a plot")
        check_plot(path, self.objectives)
        with writing(path):
            write_atomically(path, plot(self.rows, self.objectives, self.program, path.suffix[1:]))

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
    objectives: Sequence[str] = OBJECTIVES,
    search: int | None = None,
    seed: int = 0,
    save: Path | str | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    max_cycles: int | None = None,
    progress: Progress = silent,
) -> Sweep:
    """Run ``program`` on the fast model with all combinations of the values in ``over``.

    ``program``: as for `run`, or a function that makes one. ``over``: per parameter its values, or a text such as
    ``"16..256"`` (`step.sweeps.axis.parse_axis`). ``fabric.X`` and ``memory.X`` are parameters of the fabric, all
    others those of the function, or of the one that a file has. ``arguments`` of that function and ``settings`` of the
    fabric (``"fabric.stages=2"``) hold for all points. ``search``: of all combinations only so
    many, which Optuna chooses to minimise the ``objectives``. ``save`` is a .csv or .parquet file; rows that are in it
    already are not run again. ``jobs``: processes, by default one per core; ``scheduler``: the address of a Dask
    scheduler, whose workers take their place.

    An impossible point, and a run that fails, is a row with its ``status`` and ``error``; only the first
    point has to be possible. Raises its errors, `InputError` for bad arguments, `FormatError` for a file of
    another sweep, and `EnvironmentProblem` for a missing package and for a lost cluster.

    >>> found = step.sweep(program, {"fabric.stages": [1, 4], "fabric.vector_lanes": "1..4"}, jobs=1)
    >>> found, found.front[0].cycles
    (<sweep of sums: 6 points, 3 on the front>, 11)
    """
    given = checked_options({"search": search, "jobs": jobs, "max_cycles": max_cycles, "seed": seed})
    search, jobs, max_cycles = map(given.get, ("search", "jobs", "max_cycles"))
    settled(progress, Callable, "progress", InputError)
    settings = settled(settings, Iterable[Any], "settings", InputError)
    objectives = settled(objectives, Iterable[Any], "objectives", InputError)
    axes = tuple(_axis(name, values) for name, values in settled(over, Mapping, "over", InputError).items())
    points = [] if search else grid(axes)
    check_objectives(objectives)
    path = None if save is None else named_file(save, "save")
    if not axes:
        raise InputError("there is nothing to sweep over; give parameters with their values")
    with _subjects(program, inputs, settings, arguments, scheduler) as (subject, kept):
        subject.at({each.name: each.values[0] for each in axes})
        record = Record(path, [each.name for each in axes], subject)
        work = partial(evaluate, subject, max_cycles=max_cycles)
        with record, _workers(work, jobs, scheduler, search or len(points)) as workers:
            if search:
                rows = _searched(Search(axes, objectives, seed), search, record, workers, progress)
            else:
                rows = _all(points, record, workers, progress)
    return Sweep(_name(program), axes, tuple(objectives), tuple(replace(row, subject=kept) for row in rows))


def _name(program: Openable | Callable[..., Any]) -> str:
    if isinstance(program, Program | Graph):
        return program.name
    return getattr(program, "__name__", str(program))


def _axis(name: str, values: Sequence[Value] | str) -> Axis:
    if not isinstance(name, str):
        raise InputError(f"a parameter to sweep over must be a name, not {name!r}")
    if isinstance(values, str):
        return parse_axis(f"{name}={values}")
    return Axis(name, tuple(map(plain, settled(values, Iterable[Any], name, InputError))))


@contextmanager
def _subjects(
    program: Openable | Callable[..., Any],
    inputs: Path | str | None,
    settings: Sequence[str],
    arguments: Mapping[str, Value] | None,
    scheduler: str | None,
) -> Iterator[tuple[Subject, Subject]]:
    """``program`` for other processes as long as the sweep runs, and for its rows as long as these are."""
    data = None if inputs is None else str(named_file(inputs, "input data"))
    given = settled({} if arguments is None else arguments, Mapping, "arguments", InputError)
    fixed = data, tuple(settings), tuple((name, plain(value)) for name, value in given.items())
    if isinstance(program, Graph):
        program = Program(program)
    if not isinstance(program, Program):
        source = Function.of(program) if callable(program) else File(str(named_file(program, "a program")))
        subject = Subject(source, *fixed)
        yield subject, subject
        return
    if scheduler is not None:
        raise InputError(
            "a sweep on a cluster needs the name of a file with a program, which all its machines can read, or a "
            "function"
        )
    with tempfile.TemporaryDirectory(prefix="step-sweep-") as directory:
        path = Path(directory) / f"{program.name}.json"
        program.save(path)
        yield Subject(File(str(path)), *fixed), Subject(Held(program), *fixed)


def _workers(work: Work, jobs: int | None, scheduler: str | None, points: int) -> Workers:
    if scheduler is not None:
        if jobs is not None:
            raise InputError("jobs has no effect with a scheduler: its workers run the points")
        return Cluster(work, scheduler)
    return Processes(work, min(jobs or cores(), points), lost)


def _all(points: Sequence[Point], record: Record, workers: Workers, progress: Progress) -> list[Row]:
    missing = [each for each in points if each not in record]
    for row in workers.rows(missing):
        record.add(row)
        progress(f"{len(record.rows)} of {len(points)} points")
    return [record.row(each) for each in points]


def _searched(search: Search, count: int, record: Record, workers: Workers, progress: Progress) -> list[Row]:
    search.tell(row for row in record.rows if search.has(row.point))
    while points := search.ask(min(workers.together, count - search.told)):
        rows = sorted(workers.rows(points), key=lambda row: points.index(row.point))
        for row in rows:
            record.add(row)
        search.tell(rows)
        progress(f"{search.told} of {count} points")
    return [row for row in record.rows if search.has(row.point)]
