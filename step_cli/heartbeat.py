"""Progress where there is no terminal: plain lines in a log, which show that long work goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

FIRST, RAREST = 5.0, 60.0
"""Seconds to the first line, and the most between two of them; the time between them doubles."""


class Heartbeat:
    """Progress (`step.host.progress`) that a thread passes on to ``say``: nothing of short work, of long work a line
    now and then, also where one stage takes minutes."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say, self._text = say, "starting"
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, args=(FIRST, RAREST), daemon=True)

    def __call__(self, text: str) -> None:
        self._text = text

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def _beat(self, pause: float, rarest: float) -> None:
        started = time.monotonic()
        while not self._over.wait(pause):
            self._say(f"{self._text} ({time.monotonic() - started:.0f} s)")
            pause = min(2 * pause, rarest)
