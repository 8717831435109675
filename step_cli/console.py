"""Output of the command line: results on stdout, talk on stderr."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from step.host.amounts import quantity
from step.host.progress import Progress
from step.host.watching import OnTerminal

LONGER_THAN_ANY_ROW = 1_000_000
NARROW, GAP = 16, 2
"""The least width to which a column of names is folded, and the blanks between two columns."""

Column = tuple[str, bool, tuple[str, ...]]
"""The heading of a column, whether it has names, and its cells."""

FIRST, RAREST = 5.0, 60.0
"""Seconds to the first line, and the most between two of them; the time between them doubles."""


def talk(text: str) -> None:
    """A message for the person at the terminal, on stderr."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(text)


def warn(warnings: Iterable[str]) -> None:
    """Warnings, on stderr."""
    for warning in warnings:
        talk(f"[yellow]warning:[/] {escape(warning)}")


def show(plain: Any, texts: str | Iterable[str], *written: Path | None) -> None:
    """The result of the running verb on stdout: ``plain`` data, or what returns it, with ``--json``; else its
    ``texts``, and a line for each of the files ``written`` besides."""
    if as_json():
        click.echo(json.dumps(plain() if callable(plain) else plain, indent=1))
        return
    for text in (texts,) if isinstance(texts, str) else texts:
        click.echo(text, color=True)
    show_written(*written)


def show_written(*paths: Path | None) -> None:
    """A line on stdout, without ``--json``, for each file that a command wrote besides its result."""
    for path in paths:
        if path is not None and not as_json():
            click.echo(f"written: {path}")


def as_json() -> bool:
    """Whether the running verb prints JSON."""
    return bool(click.get_current_context().params["as_json"])


def table(
    title: str, headings: Sequence[str], rows: Iterable[Iterable[object]], names: Collection[str] = (), keys: int = 1
) -> str:
    """A table whose first column, and those called ``names``, have names, and the others numbers.

    None is what is not known. It has no frame, so that it fits a terminal of 80 columns and other programs can read it:
    names are folded where the terminal is too narrow for them, and whole in a pipe or file. Where the numbers alone are
    wider, there are several tables, one below the other, that all begin with the first columns, the ``keys``.
    """
    cells = list(zip(*(map(_text, row) for row in rows), strict=True)) or [()] * len(headings)
    columns = [(each, at == 0 or each in names, cells[at]) for at, each in enumerate(headings)]
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=LONGER_THAN_ANY_ROW)
    first, rest = columns[:keys], columns[keys:]
    with console.capture() as captured:
        console.print(escape(title), style="bold", soft_wrap=True)
        while rest:
            widths = [_least(first)] + [GAP + _least([each]) for each in rest]
            fit = max(1, sum(total <= console.width for total in accumulate(widths)) - 1)
            console.print(_grid([*first, *rest[:fit]], console))
            rest = rest[fit:]
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _least(columns: Sequence[Column]) -> int:
    """The least width of ``columns`` side by side: numbers are never cut."""
    return GAP * (len(columns) - 1) + sum(
        min(max(map(len, (heading, *cells))), NARROW if is_name else LONGER_THAN_ANY_ROW)
        for heading, is_name, cells in columns
    )


def _grid(columns: Sequence[Column], console: Console) -> Table:
    whole, joined = Table(box=None, pad_edge=False), Table(box=None, pad_edge=False)
    for heading, is_name, _ in columns:
        for each in (whole, joined):
            each.add_column(heading, justify="left" if is_name else "right", overflow="fold", no_wrap=not is_name)
    # All cells of a column as the lines of one look the same where nothing is folded. Rich takes a quarter of the time
    # for it: with hundreds of operators that is more than their run takes.
    joined.add_row(*("\n".join(cells) for *_, cells in columns))
    if console.measure(joined).maximum <= console.width:
        return joined
    for row in zip(*(cells for *_, cells in columns), strict=True):
        whole.add_row(*row)
    return whole


def _text(cell: object) -> str:
    return "-" if cell is None else f"{cell:,}" if isinstance(cell, int) else escape(str(cell))


def both(left: int | None, right: int | None) -> str:
    """Two numbers as one cell of a table, the second where it differs."""
    return _text(left) if left == right else f"{_text(left)} | {_text(right)}"


def share(cycles: int, of: int) -> str:
    """``cycles`` in percent of all, as a cell of a table."""
    return f"{cycles / of:.0%}" if of else "-"


def timed(cycles: int, seconds: float | None) -> Iterator[str]:
    """A line with the time that ``cycles`` are, and the clock by which they are; none where there is none."""
    if cycles and seconds is not None:
        yield f"{cycles:,} cycles are {quantity(seconds, 's')} at {cycles / seconds / 10**6:.4g} MHz"


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
        with heartbeat(lambda text: talk(escape(text))) as progress:
            yield progress


@contextmanager
def heartbeat(say: Callable[[str], None]) -> Iterator[Progress]:
    """Progress (`step.host.progress`) that a thread passes on to ``say``: nothing of short work, of long work a line
    now and then, also where one stage takes minutes."""
    texts, over = deque(["starting"], maxlen=1), threading.Event()
    thread = threading.Thread(target=_beat, args=(say, texts, over), daemon=True)
    thread.start()
    try:
        yield texts.append
    finally:
        over.set()
        thread.join()


def _beat(say: Callable[[str], None], texts: Sequence[str], over: threading.Event) -> None:
    started, pause = time.monotonic(), FIRST
    while not over.wait(pause):
        say(f"{texts[-1]} ({time.monotonic() - started:.0f} s)")
        pause = min(2 * pause, RAREST)
