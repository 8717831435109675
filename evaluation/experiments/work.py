"""Run the points of figures in several processes, and keep their rows as they come."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from experiments import rows
from experiments.rows import Row
from step.errors import InputError, StepError
from step.host.files import locked
from step.host.progress import Progress
from step_explore.sweeps.cluster import workers

Task = tuple[str, str]
"""A figure and the name of one of its points."""

Found = tuple[Task, Row | str]
"""Its row, or why there is none."""


def cycles_of(row: Row) -> str:
    """The message about a point that was run."""
    return f"{int(row['cycles']):,} cycles"


@dataclass(frozen=True)
class Experiment:
    """The points of ``figures``, whose rows have ``columns``, in files that begin with ``name``.

    ``measured`` gives what a row says of its point beside its name, the seconds that it took, and where it comes from:
    the digest that ``sources`` gives for the figure. ``told`` says of a row what was found.
    """

    name: str
    columns: Sequence[str]
    figures: Mapping[str, Callable[[], Iterator[Any]]]
    measured: Callable[[Any], Mapping[str, object]]
    sources: Callable[[str], str]
    told: Callable[[Row], str] = cycles_of

    def file(self, results: Path, figure: str) -> Path:
        """The file with the rows of a figure."""
        return results / f"{self.name}_{'fig' if figure.isdigit() else ''}{figure}.csv"

    def read(self, results: Path, figure: str) -> list[Row]:
        """The rows that there are."""
        return rows.read(self.file(results, figure), self.columns)

    def by_point(self, results: Path, figure: str) -> dict[str, Row]:
        """The rows that there are, by the names of their points."""
        return {row["point"]: row for row in self.read(results, figure)}

    def row(self, point: Any, digest: str) -> Row:
        """Measure ``point``, which has a ``name``, with sources of this ``digest``."""
        start = time.process_time()
        found = {"point": point.name, **self.measured(point)}
        found |= {"cpu_seconds": round(time.process_time() - start, 2), "sources": digest}
        found["version"] = version("step-fabric")
        return {name: "" if found[name] is None else str(found[name]) for name in self.columns}

    def find(self, digests: Mapping[str, str], task: Task) -> Found:
        """Run a point; ``digests`` are those of the sources, by figure."""
        figure, name = task
        try:
            return task, self.row(next(each for each in self.figures[figure]() if each.name == name), digests[figure])
        except StepError as error:
            return task, str(error).partition("\n")[0]

    def run(
        self,
        tasks: Iterable[Task],
        results: Path,
        jobs: int | None,
        progress: Progress,
        *,
        anew: bool = False,
        scheduler: str | None = None,
    ) -> list[str]:
        """Run what has no row in ``results`` yet, in ``jobs`` processes, or on the workers of a Dask ``scheduler``.

        A row is in its file as soon as it is there.

        Points that fail are told and returned, and the others go on. Raises `InputError` for results of other sources,
        unless they are made ``anew``, of another run that goes on, or that can not be written.
        """
        with _alone(results):
            tasks = list(tasks)
            digests = {figure: self.sources(figure) for figure in dict.fromkeys(figure for figure, _ in tasks)}
            found = {
                figure: {row["point"]: row for row in rows.resumed(path, self.columns, digest, anew=anew)}
                for figure, digest in digests.items()
                for path in [self.file(results, figure)]
            }
            missing = [(figure, name) for figure, name in tasks if name not in found[figure]]
            failed = []
            with workers(partial(self.find, digests), _lost, len(missing), jobs, scheduler) as running:
                for number, ((figure, name), row) in enumerate(running.rows(missing), start=1):
                    told = f"[{number}/{len(missing)}] figure {figure}, {name}: "
                    if isinstance(row, str):
                        failed.append(f"figure {figure}, {name}")
                        progress(told + row)
                        continue
                    found[figure][name] = row
                    in_order = (found[figure].get(each.name) for each in self.figures[figure]())
                    rows.write(self.file(results, figure), self.columns, filter(None, in_order))
                    progress(f"{told}{self.told(row)}, {row['cpu_seconds']} s")
        return failed


def _lost(task: Task, reason: str) -> Found:
    """The result where the process was killed."""
    return task, reason


@contextmanager
def _alone(results: Path) -> Iterator[None]:
    """Nobody else writes to ``results`` meanwhile; raises `InputError` where somebody does, or nobody can."""
    with ExitStack() as held:
        try:
            results.mkdir(parents=True, exist_ok=True)
            held.enter_context(locked(results / ".lock", wait=False))
        except BlockingIOError:
            raise InputError(f"another run writes to {results}; wait for it, or give another --results") from None
        except OSError as error:
            raise InputError(f"{results} can not be written: {error.strerror}") from None
        yield


def command(main: Callable[[], None]) -> None:
    """Run ``main``, with the engine that is the fastest; an error of the project ends it as a line."""
    os.environ.setdefault("STEP_BACKGROUND", "0")
    try:
        main()
    except StepError as error:
        sys.exit(f"error: {error}")
