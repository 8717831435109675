"""Work in processes of this machine: the points of a sweep, and of experiments."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from itertools import islice
from multiprocessing import get_context, parent_process
from typing import Generic, TypeVar

Task = TypeVar("Task")
Found = TypeVar("Found")


class Workers(AbstractContextManager["Workers[Task, Found]"], Generic[Task, Found]):
    """Processes that do ``work``, such as to run points: used in a ``with``, behind which none is left.

    ``lost``: what is found for a task whose process is killed again and again, given the reason.
    """

    def __init__(self, work: Callable[[Task], Found], lost: Callable[[Task, str], Found]) -> None:
        self._work, self._lost = work, lost
        self._pool: Executor | None = None

    @property
    @abstractmethod
    def together(self) -> int:
        """The number of tasks that are done at once."""

    @abstractmethod
    def end(self) -> None:
        """No process goes on, whatever it is doing."""

    def rows(self, points: Iterable[Task]) -> Iterator[Found]:
        """Results of ``points``, as they come."""
        return self._fly(iter(points), {})

    def _fly(self, waiting: Iterator[Task], flying: dict[Future[Found], Task]) -> Iterator[Found]:
        """Points are taken as late as can be: which ones there are may depend on rows that have come."""
        while True:
            for point in islice(waiting, max(0, 2 * self.together - len(flying))):  # so that nobody waits for the next
                broken = Future[Found]()
                flying[broken] = point  # until it is with a process
                flying[self._submit(point)] = flying.pop(broken)
            if not flying:
                return
            for future in self._done(flying):
                row = self._result(future, flying[future])
                del flying[future]
                yield row

    def _submit(self, point: Task) -> Future[Found]:
        assert self._pool is not None
        return self._pool.submit(self._work, point)

    def _done(self, flying: Collection[Future[Found]]) -> Collection[Future[Found]]:
        """Futures that are done, after a second maybe none."""
        return wait(flying, timeout=1, return_when=FIRST_COMPLETED).done

    def _result(self, future: Future[Found], point: Task) -> Found:
        return future.result()

    def __exit__(self, *error: object) -> None:
        self.end()


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Processes(Workers[Task, Found]):
    """``together`` processes; with one, this process does the work itself."""

    together = 1

    def __init__(self, work: Callable[[Task], Found], together: int, lost: Callable[[Task, str], Found]) -> None:
        super().__init__(work, lost)
        self.together = together

    def rows(self, points: Iterable[Task]) -> Iterator[Found]:
        """Results of ``points``, as they come.

        Where a process is killed, the points that were under way run again, each in a process of its own; one that
        is killed there as well is lost.
        """
        if self.together == 1:
            yield from map(self._work, points)
            return
        waiting, flying = iter(points), dict[Future[Found], Task]()
        while True:
            try:
                if self._pool is None:
                    self._begin(self.together)
                yield from self._fly(waiting, flying)
                return
            except BrokenProcessPool:
                self.end()
                yield from map(self._alone, list(flying.values()))
                flying.clear()

    def _alone(self, point: Task) -> Found:
        self._begin(1)
        try:
            return self._submit(point).result()
        except BrokenProcessPool:
            return self._lost(point, "its process was killed, alone too; is there enough memory?")
        finally:
            self.end()

    def _begin(self, count: int) -> None:
        # Not by fork, as this process may have threads; and with a place for what a killed one leaves half-made.
        self._scratch = tempfile.TemporaryDirectory(prefix="step-sweep-", ignore_cleanup_errors=True)
        context = get_context("spawn")
        self._pool = ProcessPoolExecutor(count, context, initializer=_use, initargs=(self._scratch.name,))

    def _submit(self, point: Task) -> Future[Found]:
        """Give ``point`` to a process. Those that begin now do not see Ctrl-C, which reaches all of a terminal's."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return super()._submit(point)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def end(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            assert isinstance(pool, ProcessPoolExecutor)
            processes = list((pool._processes or {}).values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.terminate()
                process.join()
            self._scratch.cleanup()


def _use(directory: str) -> None:
    tempfile.tempdir = directory
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A process whose parent was killed would wait for work for ever."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
