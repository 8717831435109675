"""``step waves``."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import click

from step.errors import InputError
from step.host.files import write_atomically, writing
from step.programs.prepare import prepare
from step_cli.console import show_json
from step_cli.options import Given, json_option, program_options
from step_cli.recorded import names, recorded, recording_options
from step_show.waves.ports import ports
from step_show.waves.vcd import write_vcd
from step_show.waves.views import write_gtkwave, write_surfer


@click.command()
@program_options
@click.option("--operators", metavar="NAME,NAME,...", help="Those whose channels are shown. Default: all.")
@recording_options
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The .vcd file to write. Default: called like the program.",
)
@json_option
def command(
    given: Given,
    operators: str | None,
    name: str,
    first: int,
    last: int | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Write waves of a run: the tokens on the channels of chosen operators, decoded, cycle by cycle.

    Beside FILE.vcd there are FILE.gtkw, with which GTKWave opens it, and FILE.sucl, a command file for Surfer. A run
    that fails leaves its waves as well. The RTL's own signals are in what `step run --waves` writes.
    """
    opened = given.program()
    prepared = prepare(opened)
    shown = ports(prepared.netlist, names(operators))
    output = output or Path(f"{opened.graph.name}.vcd")
    if output.suffix != ".vcd":
        raise InputError(f"waves must go to a file that ends in .vcd, not {str(output)!r}")
    with writing(output):
        pass  # told before the run, not after it
    recording = recorded(prepared, name, first, last)
    gtkwave, surfer = output.with_suffix(".gtkw"), output.with_suffix(".sucl")
    _write(output, lambda file: write_vcd(file, recording, shown))
    _write(gtkwave, lambda file: write_gtkwave(file, output, recording, shown))
    _write(surfer, lambda file: write_surfer(file, output, recording, shown))
    channels, end = len({port.channel.index for port in shown}), recording.end - 1
    if as_json:
        files = {"vcd": str(output), "gtkwave": str(gtkwave), "surfer": str(surfer)}
        show_json({**files, "channels": channels, "first": first, "last": end})
    else:
        click.echo(f"{output}, {gtkwave}, {surfer}: {channels} channels, cycles {first} to {end}")
    if recording.failure is not None:
        raise recording.failure


def _write(path: Path, write: Callable[[TextIO], None]) -> None:
    """What ``write`` writes, in the file ``path``."""
    text = io.StringIO()
    write(text)
    with writing(path):
        write_atomically(path, text.getvalue().encode())
