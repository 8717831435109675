"""``step explain``."""

from __future__ import annotations

from pathlib import Path

import click

from sim_approx.explain.explanation import explain
from sim_approx.explain.report import report
from sim_approx.explain.trace import Window, trace
from step.errors import InputError
from step.host.files import write_atomically, writing
from step.programs.prepare import prepare
from step.running.backend import runner
from step_cli.console import show_json, show_written, warn, working
from step_cli.explain_tables import SHOWN, show
from step_cli.options import Given, json_option, program_options, writable

FILE = click.Path(path_type=Path, dir_okay=False)
CYCLE = click.IntRange(min=0)


@click.command()
@program_options
@click.option("--max-cycles", type=click.IntRange(min=1), help="Stop the run there.")
@click.option("--top", type=click.IntRange(min=1), default=SHOWN, show_default=True, help="Rows of the critical path.")
@click.option("--unfold", is_flag=True, help="A row for every operator, also of those that are alike.")
@click.option("--what-if/--no-what-if", "changes", default=True, help="Try changes of the fabric.")
@click.option("--trace", "trace_file", type=FILE, help="Write a trace for Perfetto to this file, as JSON.")
@click.option("--from", "first", type=CYCLE, default=0, metavar="CYCLE", help="First cycle of the trace.")
@click.option("--to", "last", type=CYCLE, metavar="CYCLE", help="Last cycle of the trace. Default: the end.")
@click.option("--rtl", is_flag=True, help="Run the RTL as well, and show it in the trace.")
@click.option("--report", "page", type=FILE, help="Write all of it as a page to this file (.html).")
@json_option
def command(
    given: Given,
    max_cycles: int | None,
    top: int,
    unfold: bool,
    changes: bool,
    trace_file: Path | None,
    first: int,
    last: int | None,
    rtl: bool,
    page: Path | None,
    as_json: bool,
) -> None:
    """Say where the cycles of a run went: along the critical path, and in every operator.

    The critical path leads from the last token back to the start of the run, at each step along what had to be waited
    for; its cycles add up to those of the run. The fast model runs, whose cycles are those of the RTL.
    """
    if trace_file is None and (first or last is not None or rtl):
        raise InputError("--from, --to and --rtl have no effect without --trace")
    opened = given.program()
    for path in (trace_file, page):
        if path is not None:
            writable(path)
    prepared = prepare(opened)
    warn(prepared.doubts)
    with working() as progress:
        progress("running the fast model")
        found = explain(opened, prepared, changes=changes, max_cycles=max_cycles)
        exact = runner("rtl", {"events": True, "max_cycles": max_cycles}, progress)(prepared) if rtl else None
    if trace_file is not None:
        _write(trace_file, trace(found, Window.of(found.cycles, first, last), exact))
    if page is not None:
        _write(page, report(found))
    if as_json:
        show_json(found.to_json())
    else:
        show(found, top, unfold=unfold)
        show_written(trace_file, page)


def _write(path: Path, text: str) -> None:
    with writing(path):
        write_atomically(path, text.encode())
