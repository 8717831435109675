"""``step compare`` and ``step doctor``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.markup import escape
from rich.table import Table

from cosim.doctor import diagnose
from step.cli.console import show_json, show_table, talk, working
from step.cli.options import json_option, with_settings
from step.errors import EnvironmentProblem, SimulationError, StepError
from step.programs.program import load_programs
from step.running.backend import backend

if TYPE_CHECKING:
    from cosim.compare import Comparison


@click.command()
@click.argument("programs", nargs=-1, required=True)
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A fabric parameter, such as arithmetic=model."
)
@click.option("--operators/--no-operators", default=True, help="Show the activity of every operator in both.")
@json_option
def compare(programs: tuple[str, ...], settings: tuple[str, ...], operators: bool, as_json: bool) -> None:
    """Run programs on RTL, fast model and interpreter, and compare cycles, token times and outputs."""
    backend("rtl")  # says what to install where a module is missing; `doctor`, beside this, must do without them
    from cosim.compare import compare as compare_program

    found: list[Comparison] = []
    failure: StepError | None = None
    try:
        with working() as progress:
            for spec in programs:
                for program in load_programs(spec):
                    program.fabric = with_settings(program.fabric, settings)
                    found.append(compare_program(program, progress))
    except StepError as error:
        if not found:
            raise
        failure = error  # what was compared before is shown first
    if as_json:
        show_json([each.to_json() for each in found])
    else:
        for each in found:
            if operators:
                show_table(_operators(each))
        show_table(_summary(found))
        for each in found:
            for line in (each.first_mismatch, each.first_difference, each.first_peak):
                if line:
                    talk(f"[yellow]{escape(each.program)}:[/] {escape(line)}")
    if failure is not None:
        raise failure
    failed = [each.program for each in found if not each.passed]
    if failed:
        raise SimulationError(f"the back ends disagree on {', '.join(failed)}")


def _summary(found: list[Comparison]) -> Table:
    table = Table(title="RTL (exact) and fast model (approximate)")
    for heading in ("program", "exact cycles", "approx cycles", "error", "tokens", "off time", "outputs", "float64"):
        table.add_column(heading, justify="left" if heading == "program" else "right")
    for heading in ("RTL cycles/s", "approx tokens/s", "speedup"):
        table.add_column(heading, justify="right")
    for each in found:
        close = "-" if each.deviation is None else f"{each.deviation:.2%} (<= {each.tolerance:.2%})"
        table.add_row(
            each.program,
            f"{each.exact_cycles:,}",
            f"{each.approximate_cycles:,}",
            f"{each.error:.2%}",
            f"{each.tokens:,}",
            f"{each.mismatches:,}",
            "equal" if each.outputs_equal else "DIFFER",
            close,
            f"{each.rtl_cycles_per_second:,.0f}",
            f"{each.approx_tokens_per_second:,.0f}",
            f"{each.speedup:.1f}x",
        )
    return table


def _operators(found: Comparison) -> Table:
    table = Table(title=f"{found.program}: cycles per operator, RTL | fast model where it differs")
    for heading in ("operator", "busy", "starved", "blocked"):
        table.add_column(heading, justify="left" if heading == "operator" else "right")
    for each in found.operators:
        pairs = [
            (getattr(each.exact, name), getattr(each.approximate, name)) for name in ("busy", "starved", "blocked")
        ]
        table.add_row(each.name, *(f"{left:,}" if left == right else f"{left:,} | {right:,}" for left, right in pairs))
    return table


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """List the tools that the toolkit needs: found, minimum, and how to mend what is missing."""
    findings = diagnose()
    if as_json:
        show_json([each.to_json() for each in findings])
    else:
        for each in findings:
            click.echo(str(each))
    missing = [each.tool for each in findings if each.required and not each.ok]
    if missing:
        raise EnvironmentProblem(f"missing or too old: {', '.join(missing)}")
