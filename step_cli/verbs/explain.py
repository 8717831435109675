"""``step explain``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from sim_approx.explain.explanation import explain
from sim_approx.explain.report import report
from sim_approx.explain.trace import trace, window
from step.errors import InputError
from step.programs.prepare import prepare
from step.running.backend import runner
from step_cli.console import show, warn, working
from step_cli.explain_tables import SHOWN, tables
from step_cli.files import save
from step_cli.options import Count, ProgramAndInputs, Written
from step_cli.verb import NATURAL, POSITIVE, verb
from step_show.play.player import played as play_of


@verb
def command(
    *,
    program: ProgramAndInputs,
    max_cycles: Annotated[Count, "Stop the run there."],
    top: Annotated[int, POSITIVE, "Rows of the critical path."] = SHOWN,
    unfold: Annotated[bool, "A row for every operator, also of those that are alike."],
    what_if: Annotated[bool, "Try changes of the fabric."] = True,
    trace_file: Annotated[Written, "--trace", "Write a trace for Perfetto to this file, as JSON."],
    first: Annotated[int | None, NATURAL, "--from", "CYCLE", "First cycle of the trace."],
    last: Annotated[int | None, NATURAL, "--to", "CYCLE", "Last cycle of the trace. Default: the end."],
    rtl: Annotated[bool, "Run the RTL as well, and show it in the trace."],
    page: Annotated[Written, "--report", "Write all of it as a page to this file (.html)."],
    played: Annotated[Written, "--play", "Write the run to this file (.html), a page on which its tokens move."],
) -> None:
    """Say where the cycles of a run went: along the critical path, and in every operator.

    The critical path leads from the last token back to the start of the run, at each step along what had to be waited
    for; its cycles add up to those of the run. The fast model runs, whose cycles are those of the RTL.
    """
    if trace_file is None and (first or last is not None or rtl):
        raise InputError("--from, --to and --rtl have no effect without --trace")
    opened = program.load()
    prepared = prepare(opened)
    warn(prepared.doubts)
    with working() as progress:
        progress("running the fast model")
        found = explain(opened, prepared, changes=what_if, max_cycles=max_cycles, progress=progress)
        exact = runner("rtl", {"events": True, "max_cycles": max_cycles}, progress)(prepared) if rtl else None
    if trace_file is not None:
        save(trace_file, trace(found, window(found.cycles, first or 0, last), exact))
    if page is not None:
        save(page, report(found, _link(page, played)))
    if played is not None:
        save(played, play_of(found.simulation, found.record, report=_link(played, page)).page)
    show(found.to_json, tables(found, top, unfold=unfold), trace_file, page, played)


def _link(page: Path, other: Path | None) -> str:
    """The address of the ``other`` page on ``page``."""
    return "" if other is None else quote(Path(os.path.relpath(other, page.parent)).as_posix())
