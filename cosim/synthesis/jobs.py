"""Long jobs side by side, one for each core, that end together when one fails or the user interrupts; what they made
is kept."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from step.host.builds import cached
from step.host.progress import Progress, silent
from step.host.texts import write_files

Result = TypeVar("Result")


class Stop(threading.Event):
    """Tells jobs that their results are no longer wanted."""

    def check(self) -> None:
        """Raises `CancelledError` once it is set."""
        if self.is_set():
            raise CancelledError


def side_by_side(
    jobs: Sequence[tuple[str, Callable[[Stop], Result]]], doing: str, progress: Progress = silent
) -> list[Result]:
    """The results of ``jobs``, in their order; ``progress`` is told the name of each that begins.

    The first exception, or Ctrl-C, ends all, and passes on.
    """
    stop, lock, begun = Stop(), threading.Lock(), iter(range(1, len(jobs) + 1))

    def start(what: str, job: Callable[[Stop], Result]) -> Result:
        with lock:
            progress(f"{doing} {what} ({next(begun)} of {len(jobs)})")
        return job(stop)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        futures = [pool.submit(start, *each) for each in jobs]
        try:
            return [future.result() for future in futures]
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


def content(source: Path | str) -> bytes:
    """What is in the file, or the text, ``source``."""
    return source.encode() if isinstance(source, str) else source.read_bytes()


def kept(name: str, make: Callable[[Path], None], stop: Stop, files: Mapping[str, Path | str]) -> Path:
    """The cache's entry ``name``, which ``make`` makes, unless its result is no longer wanted.

    ``files``, or these texts, are there by these names while it is made.
    """
    stop.check()

    def with_files(directory: Path) -> None:
        write_files(directory, {each: content(source) for each, source in files.items()})
        make(directory)
        for each in files:
            (directory / each).unlink()

    return cached(name, with_files)
