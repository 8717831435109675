"""Runs a tool so that no part of it outlives an interruption."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any


def spawned(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """The process of ``command``, in a group of its own, whose errors go where its output goes."""
    fixed: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "start_new_session": True}
    return subprocess.Popen(command, **fixed, **options)


def run_logged(
    command: Sequence[str],
    log: Path,
    *,
    directory: Path,
    environment: Mapping[str, str],
    poll: Callable[[], None] | None = None,
) -> int:
    """Run ``command`` in ``directory`` with its output appended to ``log``; returns the exit status.

    ``poll`` is called about five times a second. On Ctrl-C, or any other exception, the whole process group ends
    before it passes on.
    """
    with log.open("ab") as output:
        process = spawned(command, stdout=output, cwd=directory, env=dict(environment))
        try:
            if poll is None:
                return process.wait()
            while True:
                try:
                    return process.wait(0.2)
                except subprocess.TimeoutExpired:
                    poll()
        except BaseException:
            _end_group(process)
            raise


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End ``process`` and all that it started: asked first, then killed."""
    for way in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, way)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(2)
    # Its children die a moment after it.
    limit = time.monotonic() + 2
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() < limit:
            os.killpg(process.pid, 0)
            time.sleep(0.01)


def how_ended(status: int) -> str:
    """The exit status of a tool, in words."""
    return f"killed by signal {-status}" if status < 0 else f"exit status {status}"
