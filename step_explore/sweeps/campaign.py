"""The points of a sweep run, all of them or those that a search chooses, in processes or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from step.host.progress import Progress
from step_explore.sweeps.axis import Point, grid
from step_explore.sweeps.cluster import workers
from step_explore.sweeps.live import Live
from step_explore.sweeps.processes import Task, Workers
from step_explore.sweeps.question import Question
from step_explore.sweeps.record import Record
from step_explore.sweeps.row import Row
from step_explore.sweeps.search import Search


def run_points(
    question: Question,
    record: Record,
    work: Callable[[Task], Row],
    lost: Callable[[Task, str], Row],
    way: Callable[[Workers[Task, Row], Sequence[Point]], Iterable[Row]],
    jobs: int | None,
    scheduler: str | None,
    progress: Progress,
    live: Live,
) -> list[Row]:
    """The rows that processes make by ``work`` of tasks, ``lost`` ones too.

    ``way``: how workers are given the tasks of some points. Those that ``record`` has do not run again. A ``live`` plot
    sees rows as they come.
    """
    points, most = [] if question.search else grid(question.axes), question.search or 0

    def tell(known: int, count: int) -> None:
        progress(f"{known} of {count} points{record.best}")
        live.see(record.rows)

    with record, workers(work, lost, most or len(points), jobs, scheduler) as running:
        if not most:
            for row in way(running, [each for each in points if each not in record]):
                record.add(row)
                tell(len(record.rows), len(points))
            return [record.row(each) for each in points]
        search = Search(question.axes, question.objectives, question.seed)
        search.tell(record.rows)
        while points := search.ask(min(running.together, most - search.ran)):
            rows = sorted(way(running, points), key=lambda row: points.index(row.point))
            for row in rows:
                record.add(row)
            search.tell(rows)
            tell(search.ran, max(most, search.ran))
        return record.rows
