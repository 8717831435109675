"""Progress as a person sees it: a line that moves on a terminal, or in a notebook; nothing elsewhere."""

from __future__ import annotations

import html
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from step.host.progress import Progress, silent

SWITCH = "STEP_PROGRESS"
"""The variable of the environment that is 0 where nothing is to be shown."""

_PARTS = re.compile(r"(\d[\d,]*) of (\d[\d,]*)")


def parts(text: str) -> tuple[int, int] | None:
    """Parts done, and parts in all, where ``text`` tells them, as in ``compiling: 3 of 40``."""
    found = _PARTS.search(text)
    return found and (int(found[1].replace(",", "")), int(found[2].replace(",", "")))


@contextmanager
def watched(progress: Progress | None) -> Iterator[Progress]:
    """``progress``; where it is None, one that a terminal or a notebook shows from the first text on.

    Nothing is shown where stderr goes to a file or a pipe, and where the variable ``STEP_PROGRESS`` is 0.
    """
    if progress is not None:
        yield progress
        return
    console = Console(stderr=True, highlight=False)
    if os.environ.get(SWITCH) == "0" or not (console.is_jupyter or console.is_terminal):
        yield silent
        return
    shown = InNotebook() if console.is_jupyter else OnTerminal(console)
    try:
        yield shown
    finally:
        shown.end()


class OnTerminal:
    """A line at the bottom of a terminal: what is being done, a bar where it has parts, and for how long."""

    def __init__(self, console: Console) -> None:
        columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=24), TimeElapsedColumn()
        self._bars = Bars(*columns, console=console, transient=True)
        self._task = self._bars.add_task("starting", total=None)
        self._began = False

    def __call__(self, text: str) -> None:
        if not self._began:
            self._began = True
            self._bars.start()
        done, total = parts(text) or (0, None)
        self._bars.update(self._task, description=escape(text), completed=done, total=total)

    def end(self) -> None:
        """The line goes."""
        if self._began:
            self._bars.stop()


class InNotebook:
    """A line below a cell, which changes at most five times a second, and goes in the end."""

    PAUSE = 0.2

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._started, self._last = clock, clock(), -self.PAUSE
        self._handle: Any = None

    def __call__(self, text: str) -> None:
        now = self._clock() - self._started
        if self._handle is None or now - self._last >= self.PAUSE:
            self._last = now
            self._show(f"{_bar(text)} {html.escape(text)} ({now:.0f} s)")

    def end(self) -> None:
        """The line goes."""
        if self._handle is not None:
            self._show("")

    def _show(self, markup: str) -> None:
        from IPython.display import HTML, display

        if self._handle is None:
            self._handle = display(HTML(markup), display_id=True)
        else:
            self._handle.update(HTML(markup))


def _bar(text: str) -> str:
    found = parts(text)
    return "<progress></progress>" if found is None else f'<progress value="{found[0]}" max="{found[1]}"></progress>'
