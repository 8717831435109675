"""The points of a sweep run, all of them or those that a search chooses, in processes or on a cluster."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from step.errors import InputError
from step.host.paths import named_file
from step.host.progress import Progress
from step.language.graph import Graph
from step.language.parameters import plain, settled
from step.lowering.fabric import is_of_fabric
from step.lowering.settings import check_settings
from step.programs.prepare import Openable
from step.programs.program import Program
from step_explore.sweeps.axis import Axis, Point, Value, grid, named, parse_axis
from step_explore.sweeps.cluster import workers
from step_explore.sweeps.front import check_objectives, costs
from step_explore.sweeps.live import Live
from step_explore.sweeps.processes import Task, Workers
from step_explore.sweeps.record import Record
from step_explore.sweeps.row import Row
from step_explore.sweeps.search import Search
from step_explore.sweeps.subject import File, Function, Held, Subject
from step_explore.sweeps.workload import Workload

Rows = Callable[[Sequence[Point]], Iterable[Row]]
Way = Callable[[Workers[Task, Row], Sequence[Point]], Iterable[Row]]
"""How workers are given the tasks of some points."""


@dataclass(frozen=True)
class Points:
    """All combinations of ``axes``, of which ``objectives`` are small where they are good; or so many as ``search``
    says, which a `Search` chooses from a ``seed``."""

    axes: tuple[Axis, ...]
    objectives: tuple[str, ...]
    search: int | None = None
    seed: int = 0
    workload: Workload = field(default_factory=Workload)

    @classmethod
    def of(
        cls,
        over: Mapping[str, Sequence[Value] | str],
        objectives: Sequence[str],
        search: int | None,
        seed: int,
        per: Sequence[str] | str = (),
        tokens: str | None = None,
        arguments: Mapping[str, Value] | None = None,
        settings: Sequence[str] = (),
    ) -> Points:
        """From what a user gives; raises `InputError` for what can not be, and for a parameter that has a value in
        ``arguments`` or ``settings``, too."""
        axes = tuple(_axis(name, values) for name, values in settled(over, Mapping, "over", InputError).items())
        names = [each.name for each in axes]
        check_apart("over", names, "arguments", arguments or {})
        check_settings([*settings, *filter(is_of_fabric, names)])
        check_objectives(objectives)
        if not axes:
            raise InputError("there is nothing to sweep over; give parameters with their values")
        workload = Workload.of(axes, objectives, per, tokens, arguments, search)
        return cls(axes, tuple(objectives), search, seed, workload)

    @property
    def first(self) -> Point:
        """The first value of every axis."""
        return {each.name: each.values[0] for each in self.axes}

    def run(
        self,
        work: Callable[[Task], Row],
        lost: Callable[[Task, str], Row],
        way: Way[Task],
        record: Record,
        jobs: int | None,
        scheduler: str | None,
        progress: Progress,
        live: Live,
    ) -> list[Row]:
        """The rows that processes make by ``work`` of tasks, ``lost`` ones too, in this ``way``; those that ``record``
        has do not run again. A ``live`` plot sees them as they come."""
        points = [] if self.search else grid(self.axes)
        with record, workers(work, lost, self.search or len(points), jobs, scheduler) as running:
            if self.search:
                search = Search(self.axes, self.objectives, self.seed)
                return self._searched(
                    search, self.search, record, running.together, partial(way, running), progress, live
                )
            return self._all(points, record, partial(way, running), progress, live)

    def _all(self, points: Sequence[Point], record: Record, rows: Rows, progress: Progress, live: Live) -> list[Row]:
        missing = [each for each in points if each not in record]
        for row in rows(missing):
            record.add(row)
            progress(f"{len(record.rows)} of {len(points)} points{self._best(record)}")
            live.see(record.rows)
        return [record.row(each) for each in points]

    def _searched(
        self, search: Search, count: int, record: Record, together: int, run: Rows, progress: Progress, live: Live
    ) -> list[Row]:
        search.tell(record.rows)
        while points := search.ask(min(together, count - search.told)):
            rows = sorted(run(points), key=lambda row: points.index(row.point))
            for row in rows:
                record.add(row)
            search.tell(rows)
            progress(f"{search.told} of {max(count, search.told)} points{self._best(record)}")
            live.see(record.rows)
        return record.rows

    def _best(self, record: Record) -> str:
        """The best in the first objective so far, for who watches."""
        objective = self.objectives[0]
        known = [(cost, row) for row in record.rows if (cost := costs(row, [objective]))]
        if not known:
            return ""
        cost, row = min(known, key=lambda each: each[0])
        return f"; the least {objective}: {cost[0]:,}, {named(row.point)}"


def check_apart(what: str, names: Iterable[str], other: str, others: Iterable[str]) -> None:
    """Raise `InputError` for a parameter that is among the ``names`` of ``what`` and those of the ``other``."""
    for twice in sorted(set(names) & set(others)):
        raise InputError(f"{twice} has values in {what} and in {other}: leave one of them out")


def _axis(name: str, values: Sequence[Value] | str) -> Axis:
    if not isinstance(name, str):
        raise InputError(f"a parameter to sweep over must be a name, not {name!r}")
    if isinstance(values, str):
        return parse_axis(f"{name}={values}")
    return Axis(name, tuple(map(plain, settled(values, Iterable[Any], name, InputError))))


@contextmanager
def subjects(
    program: Openable | Callable[..., Any],
    inputs: Path | str | None,
    settings: Sequence[str],
    arguments: Mapping[str, Value] | None,
    scheduler: str | None,
    depths: Mapping[str, int] | None = None,
) -> Iterator[tuple[Subject, Subject]]:
    """``program`` for other processes as long as the sweep runs, and for its rows as long as these are."""
    data = None if inputs is None else str(named_file(inputs, "input data"))
    given = settled({} if arguments is None else arguments, Mapping, "arguments", InputError)
    deep = settled({} if depths is None else depths, Mapping, "depths", InputError)
    fixed = data, tuple(settings), tuple((name, plain(value)) for name, value in given.items()), tuple(deep.items())
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
