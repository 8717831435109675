"""The points of a sweep, and the tasks of others, on the machines of a Dask cluster."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from concurrent.futures import CancelledError, Future

from step.errors import EnvironmentProblem, InputError, expect, needing
from step_explore.sweeps.processes import Found, Processes, Task, Workers, cores

PATIENCE = 60.0
"""Seconds without any worker after which a sweep gives up."""

CONNECTING = 10.0
"""Seconds that a scheduler may take to answer."""


class Cluster(Workers[Task, Found]):
    """The workers of the Dask scheduler at ``address``, which do ``work``.

    ``lost``: what is found for a task that took several workers with it, given the reason. All workers need this
    toolkit, and see the files of the program under the names that they have here. Raises `EnvironmentProblem` where
    nobody answers, and where no worker is left for ``patience`` seconds.
    """

    def __init__(
        self,
        work: Callable[[Task], Found],
        address: str,
        lost: Callable[[Task, str], Found],
        patience: float = PATIENCE,
    ) -> None:
        with needing("a sweep on a cluster", "cluster"):
            import distributed
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters of it is told as an error
        super().__init__(work, lost)
        self._address, self._patience, self._killed = address, patience, distributed.KilledWorker
        try:
            self._client = distributed.Client(address, timeout=CONNECTING, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            reason = str(error).partition("\n")[0] or type(error).__name__
            raise EnvironmentProblem(f"there is no Dask scheduler at {address}: {reason}") from None
        self._pool, self._seen = self._client.get_executor(pure=False), time.monotonic()

    @property
    def together(self) -> int:
        """The number of tasks that are done at once: threads of the workers."""
        return max(1, sum(self._threads()))

    def _done(self, flying: Collection[Future[Found]]) -> Collection[Future[Found]]:
        """Raises `EnvironmentProblem` where there was no worker for too long."""
        if done := super()._done(flying):
            return done
        now = time.monotonic()
        if self._threads():
            self._seen = now
        elif now - self._seen > self._patience:
            raise EnvironmentProblem(
                f"the Dask scheduler at {self._address} has had no worker for {self._patience:.0f} s; start one with: "
                f"dask worker {self._address}"
            )
        return done

    def _result(self, future: Future[Found], point: Task) -> Found:
        """The result of ``point``. The scheduler gives the tasks of a lost worker to others; one that took several
        workers with it (``distributed.scheduler.allowed-failures``) is lost."""
        try:
            return future.result()
        except self._killed:
            return self._lost(point, "every worker that ran it was killed; is there enough memory?")
        except CancelledError:
            raise self._gone() from None

    def _threads(self) -> list[int]:
        """Threads of each of the workers."""
        try:
            return list(self._client.nthreads().values())
        except OSError:
            raise self._gone() from None

    def _gone(self) -> EnvironmentProblem:
        return EnvironmentProblem(f"the Dask scheduler at {self._address} was lost, or somebody cancelled the sweep")

    def end(self) -> None:
        self._client.close()


def workers(
    work: Callable[[Task], Found],
    lost: Callable[[Task, str], Found],
    tasks: int,
    jobs: int | None,
    scheduler: str | None,
) -> Workers[Task, Found]:
    """Workers for so many ``tasks``: ``jobs`` processes, by default one per core, or the workers of a ``scheduler``.

    Raises `InputError` where both are given, and what `Cluster` raises.
    """
    if scheduler is None:
        return Processes(work, max(1, min(jobs or cores(), tasks)), lost)
    expect(jobs is None, "jobs has no effect with a scheduler: its workers run the points", InputError)
    return Cluster(work, scheduler, lost)
