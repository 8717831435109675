"""``step tokens``."""

from __future__ import annotations

import io
from dataclasses import asdict

import click

from step.programs.prepare import prepare
from step_cli.console import show_json
from step_cli.options import Given, json_option, program_options
from step_cli.recorded import names, recorded, recording_options
from step_show.waves.ports import ports
from step_show.waves.table import rows, write_csv, write_text


@click.command()
@program_options
@click.option("--of", "operators", metavar="NAME,NAME,...", help="Operators whose tokens are shown. Default: all.")
@recording_options
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@json_option
def command(
    given: Given,
    operators: str | None,
    name: str,
    first: int,
    last: int | None,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Show the tokens that pass the ports of operators, with the cycles in which they enter and leave channels.

    A run that fails shows the tokens up to there. Both back ends show the same.
    """
    prepared = prepare(given.program())
    shown = ports(prepared.netlist, names(operators))
    recording = recorded(prepared, name, first, last)
    found = rows(recording, shown)
    if as_json:
        show_json([asdict(row) for row in found])
    else:
        text = io.StringIO()
        (write_csv if as_csv else write_text)(text, found)
        click.echo(text.getvalue(), nl=False)
    if recording.failure is not None:
        raise recording.failure
