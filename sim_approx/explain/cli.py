"""``step explain``."""

from __future__ import annotations

from pathlib import Path

import click

from sim_approx.explain.explanation import explain
from sim_approx.explain.tables import show
from step.cli.console import show_json, warn, working
from step.cli.options import json_option, open_program, program_options
from step.language.validate import check


@click.command()
@program_options
@click.option("--max-cycles", type=click.IntRange(min=1), help="Stop the run there.")
@click.option("--top", type=click.IntRange(min=1), default=12, show_default=True, help="Rows of the critical path.")
@click.option("--what-if/--no-what-if", "changes", default=True, help="Try changes of the fabric.")
@json_option
def command(
    program: str,
    inputs: Path | None,
    settings: tuple[str, ...],
    max_cycles: int | None,
    top: int,
    changes: bool,
    as_json: bool,
) -> None:
    """Say where the cycles of a run went: along the critical path, and in every operator.

    The critical path leads from the last token back to the start of the run, at each step along what had to be waited
    for; its cycles add up to those of the run. The fast model runs, whose cycles are those of the RTL.
    """
    opened = open_program(program, inputs, settings)
    warn(check(opened.graph))
    with working() as progress:
        progress("running the fast model")
        found = explain(opened, changes=changes, max_cycles=max_cycles)
    if as_json:
        show_json(found.to_json())
    else:
        show(found, top)
