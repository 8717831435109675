"""Options of the verbs that show the tokens of a run: which back end, which cycles, which operators."""

from __future__ import annotations

import click

from step.errors import InputError
from step.programs.prepare import Prepared
from step_cli.backends import backend_option, check_takes
from step_cli.console import working
from step_cli.options import Command
from step_show.waves.recording import Recording, record


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
        backend_option,
    ):
        function = option(function)
    return function


def recorded(prepared: Prepared, name: str, first: int, last: int | None) -> Recording:
    """The run of what is ``prepared``, with progress on stderr.

    Raises like `step_show.waves.recording.record`, and `InputError` for a back end that records no tokens.
    """
    check_takes(name, "events", "there are no tokens to show")
    with working() as progress:
        return record(prepared, name, first, last, progress)


def names(text: str | None) -> list[str]:
    """The names in ``a,b,c``; none for None."""
    if text is None:
        return []
    found = [each.strip() for each in text.split(",")]
    if not all(found):
        raise InputError(f"names of operators must be parted by commas, as in a,b, not {text!r}")
    for name in found:
        if found.count(name) > 1:
            raise InputError(f"the operator {name} is there twice in {text!r}")
    return found
