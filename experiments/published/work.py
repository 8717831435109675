"""Run points in several processes, and keep their rows as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from experiments.published.points import FIGURES, point
from experiments.published.rows import Row, file_of, measured, resumed, sources, write
from step.errors import InputError, StepError
from step.host.progress import Progress
from step.sweeps.processes import Processes

Task = tuple[str, str]
"""A figure and the name of one of its points."""

Found = tuple[Task, Row | str]
"""Its row, or why there is none."""


def found(task: Task, digest: str) -> Found:
    """Run a point."""
    try:
        return task, measured(point(*task), digest)
    except StepError as error:
        return task, str(error).partition("\n")[0]


def lost(task: Task, reason: str) -> Found:
    """What is found where the process was killed."""
    return task, reason


def run(
    tasks: Iterable[Task], results: Path, jobs: int, progress: Progress, find: Callable[..., Found] = found
) -> list[str]:
    """Run what has no row in ``results`` yet, in ``jobs`` processes; each row is in its file as soon as it is there.

    Points that fail are told and returned, and the others go on. Raises `InputError` for results of other sources, of
    another run that goes on, or that can not be written.
    """
    digest = sources()
    with _alone(results):
        tasks = list(tasks)
        rows = {figure: _rows(results, figure, digest) for figure in dict.fromkeys(figure for figure, _ in tasks)}
        missing = [(figure, name) for figure, name in tasks if name not in rows[figure]]
        failed = []
        with Processes(partial(find, digest=digest), max(1, min(jobs, len(missing))), lost) as workers:
            for number, ((figure, name), row) in enumerate(workers.rows(missing), start=1):
                told = f"[{number}/{len(missing)}] figure {figure}, {name}: "
                if isinstance(row, str):
                    failed.append(f"figure {figure}, {name}")
                    progress(told + row)
                    continue
                rows[figure][name] = row
                write(file_of(results, figure), _in_order(figure, rows[figure]))
                progress(f"{told}{int(row['cycles']):,} cycles, {row['cpu_seconds']} s")
    return failed


def _rows(results: Path, figure: str, digest: str) -> dict[str, Row]:
    return {row["point"]: row for row in resumed(file_of(results, figure), digest)}


def _in_order(figure: str, rows: dict[str, Row]) -> Sequence[Row]:
    """As the points of the figure are, whatever came first."""
    return [rows[each.name] for each in FIGURES[figure]() if each.name in rows]


@contextmanager
def _alone(results: Path) -> Iterator[None]:
    """Nobody else writes to ``results`` meanwhile; raises `InputError` where somebody does."""
    try:
        results.mkdir(parents=True, exist_ok=True)
        with FileLock(results / ".lock", timeout=0):
            yield
    except Timeout:
        raise InputError(f"another run writes to {results}; wait for it, or give another --results") from None
