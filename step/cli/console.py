"""What the command line prints: results on stdout, talk on stderr."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from step.host.progress import Progress, silent


def talk(text: str) -> None:
    """A message for the person at the terminal, on stderr."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(text)


def warn(warnings: Iterable[str]) -> None:
    """Warnings, on stderr."""
    for warning in warnings:
        talk(f"[yellow]warning:[/] {escape(warning)}")


def show_table(table: Table) -> None:
    """A table on stdout; not cut to the terminal's width when stdout is a file."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=200)
    console.print(table)


def show_json(data: Any) -> None:
    """Plain data on stdout."""
    click.echo(json.dumps(data, indent=1))


@contextmanager
def working(quiet: bool = False) -> Iterator[Progress]:
    """A spinner on stderr that shows the last message, while the body runs."""
    console = Console(stderr=True, highlight=False)
    if quiet or not console.is_terminal:
        yield silent
        return
    with console.status("starting") as status:
        yield lambda text: status.update(text)
