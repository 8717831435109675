"""``step waves``."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TextIO

from step.errors import InputError, expect
from step.programs.prepare import prepare
from step_cli.backends import Operators, RecordingOptions
from step_cli.console import show
from step_cli.files import save, writable
from step_cli.options import FILE, ProgramAndInputs
from step_cli.verb import verb
from step_show.waves.ports import ports
from step_show.waves.vcd import write_vcd
from step_show.waves.views import write_gtkwave, write_surfer


@verb
def command(
    *,
    program: ProgramAndInputs,
    operators: Annotated[Operators, "--of", "Operators whose channels are shown. Default: all."],
    recording: RecordingOptions,
    output: Annotated[Path | None, FILE, "-o", "--output", "The .vcd file to write. Default: called like the program."],
) -> None:
    """Write waves of a run: the tokens on the channels of chosen operators, decoded, cycle by cycle.

    Beside FILE.vcd there are FILE.gtkw, with which GTKWave opens it, and FILE.sucl, a command file for Surfer. A run
    that fails leaves its waves as well. The RTL's own signals are in what `step run --waves` writes.
    """
    opened = program.load()
    prepared = prepare(opened)
    shown = ports(prepared.netlist, operators or [])
    output = output or Path(f"{opened.graph.name}.vcd")
    expect(output.suffix == ".vcd", f"waves must go to a file that ends in .vcd, not {str(output)!r}", InputError)
    writable(output)
    made = recording.record(prepared)
    gtkwave, surfer = output.with_suffix(".gtkw"), output.with_suffix(".sucl")
    _write(output, lambda file: write_vcd(file, made, shown))
    _write(gtkwave, lambda file: write_gtkwave(file, output, made, shown))
    _write(surfer, lambda file: write_surfer(file, output, made, shown))
    channels, end = len({port.channel.index for port in shown}), made.end - 1
    files = {"vcd": str(output), "gtkwave": str(gtkwave), "surfer": str(surfer)}
    show(
        {**files, "channels": channels, "first": recording.first, "last": end},
        f"{', '.join(files.values())}: {channels} channels, cycles {recording.first} to {end}",
    )
    if made.failure is not None:
        raise made.failure


def _write(path: Path, write: Callable[[TextIO], None]) -> None:
    """Save what ``write`` writes in the file ``path``."""
    text = io.StringIO()
    write(text)
    save(path, text.getvalue())
