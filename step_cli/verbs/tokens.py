"""``step tokens``."""

from __future__ import annotations

import io
from dataclasses import asdict
from typing import Annotated

from step.programs.prepare import prepare
from step_cli.backends import Operators, RecordingOptions
from step_cli.console import show
from step_cli.options import ProgramAndInputs
from step_cli.verb import verb
from step_show.waves.ports import ports
from step_show.waves.table import rows, write_csv, write_text


@verb
def command(
    *,
    program: ProgramAndInputs,
    operators: Annotated[Operators, "--of", "Operators whose tokens are shown. Default: all."],
    recording: RecordingOptions,
    as_csv: Annotated[bool, "--csv", "Print CSV."],
) -> None:
    """Show the tokens that pass the ports of operators, with the cycles in which they enter and leave channels.

    A run that fails shows the tokens up to there. Both back ends show the same.
    """
    prepared = prepare(program.load())
    shown = ports(prepared.netlist, operators or [])
    made = recording.record(prepared)
    found = rows(made, shown)
    text = io.StringIO()
    (write_csv if as_csv else write_text)(text, found)
    show(lambda: [asdict(row) for row in found], text.getvalue().removesuffix("\n"))
    if made.failure is not None:
        raise made.failure
