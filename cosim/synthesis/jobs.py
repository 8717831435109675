"""Long jobs side by side, one for each core, that end together when one fails or the user interrupts."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


class Stop:
    """Tells jobs that their results are no longer wanted."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """Ask all jobs to end."""
        self._event.set()

    def check(self) -> None:
        """Raises `CancelledError` once they are asked to."""
        if self._event.is_set():
            raise CancelledError


def side_by_side(jobs: Iterable[Callable[[Stop], Result]]) -> list[Result]:
    """The results of ``jobs``, in their order. The first exception, or Ctrl-C, ends all, and passes on."""
    stop = Stop()
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        futures = [pool.submit(job, stop) for job in jobs]
        try:
            return [future.result() for future in futures]
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
