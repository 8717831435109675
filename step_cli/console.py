"""What the command line prints: results on stdout, talk on stderr."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from step.host.progress import Progress
from step.host.watching import OnTerminal
from step_cli.heartbeat import Heartbeat

LONGER_THAN_ANY_ROW = 1_000_000


def talk(text: str) -> None:
    """A message for the person at the terminal, on stderr."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(text)


def warn(warnings: Iterable[str]) -> None:
    """Warnings, on stderr."""
    for warning in warnings:
        talk(f"[yellow]warning:[/] {escape(warning)}")


def new_table(title: str, *headings: str, names: Collection[str] = ()) -> Table:
    """An empty table whose first column, and those called ``names``, have names, and the others numbers.

    It has no frame, so that it fits a terminal of 80 columns and other programs can read it.
    """
    table = Table(title=escape(title), box=None, pad_edge=False)
    for position, heading in enumerate(headings):
        name = position == 0 or heading in names
        table.add_column(heading, justify="left" if name else "right", overflow="fold", no_wrap=not name)
    return table


def show_table(table: Table) -> None:
    """A table on stdout: names are folded where the terminal is too narrow for them, and whole in a pipe or file."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=LONGER_THAN_ANY_ROW)
    title, table.title = table.title, None  # which would be folded to the width of the table
    columns = _as_columns(table)
    fits = console.measure(columns).maximum <= console.width
    with console.capture() as captured:
        console.print(title, style="bold", soft_wrap=True)
        console.print(columns if fits else table)
    for line in captured.get().splitlines():
        click.echo(line.rstrip(), color=True)


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
