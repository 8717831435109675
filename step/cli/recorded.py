"""Options of the verbs that show the tokens of a run: which back end, which cycles, which operators."""

from __future__ import annotations

from typing import Any

import click

from step.cli.console import working
from step.cli.options import Command
from step.errors import InputError
from step.programs.program import Program
from step.waves.recording import Recording, record


def recording_options(function: Command) -> Command:
    """``--backend``, ``--from`` and ``--to``; pass all three to `recorded`."""
    for option in (
        click.option("--to", "last", type=click.IntRange(min=0), metavar="CYCLE", help="Last cycle. Default: the end."),
        click.option(
            "--from",
            "first",
            type=click.IntRange(min=0),
            default=0,
            metavar="CYCLE",
            show_default=True,
            help="First cycle.",
        ),
        click.option("--backend", "name", type=click.Choice(["approx", "rtl"]), default="rtl", show_default=True),
    ):
        function = option(function)
    return function


def recorded(program: Program, name: str, first: int, last: int | None) -> Recording:
    """The run of ``program``, with progress on stderr; raises like `step.waves.recording.record`."""
    with working() as progress:
        options: dict[str, Any] = {"progress": progress} if name == "rtl" else {}
        return record(program, name, first, last, **options)


def names(text: str | None) -> list[str]:
    """The names in ``a,b,c``; none for None."""
    if text is None:
        return []
    found = [each.strip() for each in text.split(",")]
    if not all(found):
        raise InputError(f"names of operators must be parted by commas, as in a,b, not {text!r}")
    return found
