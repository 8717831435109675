"""``step compare`` and ``step doctor``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape
from rich.table import Table

from cosim.building.doctor import diagnose
from step.cli.console import new_table, show_json, show_table, show_written, talk, warn, working
from step.cli.options import (
    arguments_option,
    binding_option,
    bound,
    calibration_option,
    explain_option,
    explainer,
    fitted_option,
    inputs_option,
    json_option,
    on_fabric,
    parse_arguments,
    save_json,
    settings_option,
    writable,
)
from step.errors import EnvironmentProblem, FormatError, InputError, SimulationError, StepError
from step.programs.prepare import prepare
from step.programs.program import Program, load_program, load_programs
from step.running.backend import backend
from step.sweeps.axis import Value

if TYPE_CHECKING:
    from cosim.comparing.compare import Comparison

FORMAT = "step-comparison-1"


@click.command()
@click.argument("programs", nargs=-1, required=True)
@inputs_option
@arguments_option
@settings_option
@fitted_option
@binding_option
@calibration_option
@click.option("--max-cycles", type=click.IntRange(min=1), help="Stop both timed runs there.")
@click.option("--waves", type=click.Path(path_type=Path, dir_okay=False), help="Waves of the RTL (.vcd or .fst).")
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), help="Write what was found to this file.")
@click.option("--operators/--no-operators", default=True, help="Show the activity of every operator in both.")
@explain_option
@json_option
def compare(
    programs: tuple[str, ...],
    inputs: Path | None,
    arguments: tuple[str, ...],
    settings: tuple[str, ...],
    fitted: Path | None,
    binding: Path | None,
    calibration: Path | None,
    max_cycles: int | None,
    waves: Path | None,
    save: Path | None,
    operators: bool,
    explain: bool,
    as_json: bool,
) -> None:
    """Run programs on RTL, fast model and interpreter, and compare cycles, token times and outputs.

    Several PROGRAMs, lists of them, and patterns such as 'examples/*.py' may be given. --inputs, --waves and --binding
    need one.
    """
    backend("rtl")  # says what to install where a module is missing; `doctor`, beside this, must do without them
    from cosim.comparing.compare import compare as compare_program

    show_path = explainer(as_json) if explain else None
    opened = _open(programs, parse_arguments(arguments), inputs, waves, binding)
    if save is not None:
        writable(save)
    found: list[Comparison] = []
    failure: StepError | None = None
    try:
        with working() as progress:
            for place, each in enumerate(opened):
                program = opened[place] = on_fabric(each, fitted, settings)
                if binding is not None:
                    program = bound(program, binding)
                prepared = prepare(program)
                warn(prepared.doubts)
                options: dict[str, Any] = {"max_cycles": max_cycles, "waves": waves, "calibration": calibration}
                found.append(compare_program(program, progress, prepared, **options))
    except StepError as error:
        failure = error  # what was compared before is shown first
    plain = [each.to_json() for each in found]
    if save is not None:
        save_json(save, {"format": FORMAT, "comparisons": plain, "error": failure and str(failure)})
    if found and as_json:
        show_json(plain)
    elif found:
        _show(found, operators)
        if calibration is not None:
            _show_calibration(calibration)
        if show_path is not None:
            for program in opened[: len(found)]:
                show_path(program, max_cycles)
    if not as_json:
        show_written(save, waves if found else None)
    if failure is not None:
        raise failure
    _judge(found)
    if not as_json:
        click.echo(f"ok: RTL, fast model and interpreter agree on {_several(len(found), 'program')}")


def _open(
    specs: tuple[str, ...],
    arguments: dict[str, Value],
    inputs: Path | None,
    waves: Path | None,
    binding: Path | None,
) -> list[Program]:
    """All programs, before the first of them is built."""
    if inputs is not None and len(specs) == 1:
        return [load_program(specs[0], inputs, arguments)]
    opened = [program for spec in specs for program in load_programs(spec, arguments)]
    if not opened:
        raise FormatError(f"there is no program in {', '.join(specs)}")
    for option, value in (("--inputs", inputs), ("--waves", waves), ("--binding", binding)):
        if value is not None and len(opened) != 1:
            raise InputError(f"{option} needs one program, but there are {len(opened)}")
    return opened


def _judge(found: list[Comparison]) -> None:
    """Raises `SimulationError` where a comparison did not pass."""
    apart = [each.program for each in found if not each.agreed]
    if apart:
        raise SimulationError(f"the back ends disagree on {', '.join(apart)}")
    wrong = [each.program for each in found if not each.passed]
    if wrong:
        raise SimulationError(
            f"the back ends agree, but the outputs of {', '.join(wrong)} are not what the program expects"
        )


def _several(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _show(found: list[Comparison], operators: bool) -> None:
    for each in found:
        if operators:
            show_table(_operators(each))
            click.echo()
    show_table(_summary(found))
    click.echo()
    show_table(_speeds(found))
    for each in found:
        for line in each.complaints:
            talk(f"[yellow]{escape(each.program)}:[/] {escape(line)}")


def _show_calibration(path: Path) -> None:
    """What the fast model's numbers are from, and how well they predict other programs."""
    from sim_approx.calibration.file import Calibration

    used = Calibration.load(path)
    click.echo(f"\ncalibration: {path} of {used.date}")
    for each in used.held_out.values():
        click.echo(each)
    if not used.held_out:
        click.echo("held out: no program; step calibrate --held-out PROGRAM compares one with RTL")


def _summary(found: list[Comparison]) -> Table:
    table = new_table(
        "RTL | fast model where it differs",
        *("program", "cycles", "error", "tokens", "off time", "off-chip bytes", "outputs", "float64"),
    )
    for each in found:
        table.add_row(
            escape(each.program),
            _both(each.exact_cycles, each.approximate_cycles),
            f"{each.error:.2%}",
            f"{each.tokens:,}",
            f"{each.mismatches:,}",
            _both(*(sum(getattr(one, name).bytes for one in each.traffic) for name in ("exact", "approximate"))),
            "equal" if each.outputs_equal else "DIFFER",
            "-" if each.deviation is None else f"{each.deviation:.2%}",
        )
    return table


def _speeds(found: list[Comparison]) -> Table:
    table = new_table("Speed", "program", "build s", "RTL cycles/s", "model tokens/s", "model is faster by")
    for each in found:
        table.add_row(
            escape(each.program),
            f"{each.build_seconds:.0f}",
            f"{each.rtl_cycles_per_second:,.0f}",
            f"{each.approx_tokens_per_second:,.0f}",
            f"{each.speedup:.1f}x",
        )
    return table


def _operators(found: Comparison) -> Table:
    activities = ("busy", "starved", "blocked")
    table = new_table(
        f"{found.program}: cycles per operator, RTL | fast model where it differs",
        *("operator", *activities, "error", "off time"),
    )
    for each in found.operators:
        pairs = [(getattr(each.exact, name), getattr(each.approximate, name)) for name in activities]
        cycles = (_both(*pair) for pair in pairs)
        table.add_row(escape(each.name), *cycles, f"{each.error:.2%}", f"{each.mismatches:,}")
    return table


def _both(left: int, right: int) -> str:
    return f"{left:,}" if left == right else f"{left:,} | {right:,}"


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
