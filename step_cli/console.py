"""Output of the command line: results on stdout, talk on stderr."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from step.host.progress import Progress
from step.host.watching import OnTerminal

LONGER_THAN_ANY_ROW = 1_000_000

FIRST, RAREST = 5.0, 60.0
"""Seconds to the first line, and the most between two of them; the time between them doubles."""


def talk(text: str) -> None:
    """A message for the person at the terminal, on stderr."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(text)


def warn(warnings: Iterable[str]) -> None:
    """Warnings, on stderr."""
    for warning in warnings:
        talk(f"[yellow]warning:[/] {escape(warning)}")


def show_rows(
    title: str, headings: Sequence[str], rows: Iterable[Iterable[object]], names: Collection[str] = ()
) -> None:
    """A table on stdout whose first column, and those called ``names``, have names, and the others numbers.

    None is what is not known. It has no frame, so that it fits a terminal of 80 columns and other programs can read it:
    names are folded where the terminal is too narrow for them, and whole in a pipe or file.
    """
    table = Table(box=None, pad_edge=False)
    for position, heading in enumerate(headings):
        name = position == 0 or heading in names
        table.add_column(heading, justify="left" if name else "right", overflow="fold", no_wrap=not name)
    for row in rows:
        table.add_row(*map(_text, row))
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=LONGER_THAN_ANY_ROW)
    columns = _as_columns(table)
    fits = console.measure(columns).maximum <= console.width
    with console.capture() as captured:
        console.print(escape(title), style="bold", soft_wrap=True)
        console.print(columns if fits else table)
    for line in captured.get().splitlines():
        click.echo(line.rstrip(), color=True)


def _text(cell: object) -> str:
    return "-" if cell is None else f"{cell:,}" if isinstance(cell, int) else escape(str(cell))


def _as_columns(table: Table) -> Table:
    """``table`` with all cells of a column as the lines of one, which looks the same where nothing is folded.

    Rich takes a quarter of the time for it: with hundreds of operators that is more than their run takes.
    """
    columns = Table(box=None, pad_edge=False)
    for each in table.columns:
        columns.add_column(each.header, justify=each.justify, overflow=each.overflow, no_wrap=each.no_wrap)
    columns.add_row(*("\n".join(map(str, each.cells)) for each in table.columns))
    return columns


def show_written(*paths: Path | None) -> None:
    """A line on stdout for each file that a command wrote besides its result."""
    for path in paths:
        if path is not None:
            click.echo(f"written: {path}")


def share(cycles: int, of: int) -> str:
    """``cycles`` in percent of all, as a cell of a table."""
    return f"{cycles / of:.0%}" if of else "-"


def show_json(data: Any) -> None:
    """Plain data on stdout."""
    click.echo(json.dumps(data, indent=1))


@contextmanager
def working() -> Iterator[Progress]:
    """Shows on stderr what the body does: one line on a terminal, else one now and then where it takes long."""
    console = Console(stderr=True, highlight=False)
    if console.is_terminal:
        shown = OnTerminal(console)
        shown("starting")
        try:
            yield shown
        finally:
            shown.end()
    else:
        with Heartbeat(lambda text: talk(escape(text))) as heartbeat:
            yield heartbeat


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
