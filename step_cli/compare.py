"""``step compare`` and ``step doctor``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape
from rich.table import Table

from cosim.building.doctor import diagnose
from step.errors import EnvironmentProblem, FormatError, InputError, SimulationError, StepError
from step.programs.files.json_file import format_of
from step.programs.prepare import prepare
from step.programs.program import Program, load_program, load_programs
from step.running.backend import backend
from step_cli.console import new_table, show_json, show_table, show_written, talk, warn, working
from step_cli.options import (
    arguments_option,
    binding_option,
    bound,
    check_kept,
    explain_option,
    explainer,
    fitted_option,
    inputs_option,
    json_option,
    on_fabric,
    parse_arguments,
    save_json,
    scheduler_option,
    settings_option,
    writable,
)
from step_explore.sweeps.axis import Value

if TYPE_CHECKING:
    from cosim.comparing.compare import Comparison
    from step_cli.elsewhere import Task


@click.command()
@click.argument("programs", nargs=-1, required=True)
@inputs_option
@arguments_option
@settings_option
@fitted_option
@binding_option
@click.option("--max-cycles", type=click.IntRange(min=1), help="Stop both timed runs there.")
@click.option("--waves", type=click.Path(path_type=Path, dir_okay=False), help="Waves of the RTL (.vcd or .fst).")
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), help="Write what was found to this file.")
@click.option("--operators/--no-operators", default=True, help="Show the activity of every operator in both.")
@explain_option
@click.option("--jobs", type=click.IntRange(min=1), help="Processes, for several programs.  [default: one]")
@scheduler_option
@json_option
def compare(
    programs: tuple[str, ...],
    inputs: Path | None,
    arguments: tuple[str, ...],
    settings: tuple[str, ...],
    fitted: Path | None,
    binding: Path | None,
    max_cycles: int | None,
    waves: Path | None,
    save: Path | None,
    operators: bool,
    explain: bool,
    jobs: int | None,
    scheduler: str | None,
    as_json: bool,
) -> None:
    """Run programs on RTL, fast model and interpreter, and compare cycles, token times and outputs.

    Several PROGRAMs, lists of them, and patterns such as 'examples/*.py' may be given. --inputs, --waves and --binding
    need one, without --jobs and --scheduler.
    """
    backend("rtl")  # says what to install where a module is missing; `doctor`, beside this, must do without them
    from cosim.comparing.compare import compared as compared_program
    from step_cli.elsewhere import Elsewhere

    show_path = explainer(as_json) if explain else None
    made, elsewhere = parse_arguments(arguments), jobs is not None or scheduler is not None
    opened = _open(programs, made, {"--inputs": inputs, "--waves": waves, "--binding": binding}, elsewhere)
    for spec in programs:
        check_kept({"PROGRAM": Path(spec.partition(":")[0])})
    if save is not None:
        writable(save)
    compared: dict[Task, Comparison] = {}
    failure: StepError | None = None
    try:
        with working() as progress:
            for task, each in opened.items():
                program = opened[task] = on_fabric(each, fitted, settings)
                if binding is not None:
                    program = bound(program, binding)
                prepared = prepare(program)
                warn(prepared.doubts)
                if not elsewhere:
                    compared[task] = compared_program(program, prepared, progress, waves=waves, max_cycles=max_cycles)
            if elsewhere:
                how = Elsewhere(made, fitted, settings, max_cycles)
                compared, failure = how.compared(list(opened), jobs, scheduler, progress)
    except StepError as error:
        failure = error  # what was compared before is shown first
    found = list(compared.values())
    plain = [each.to_json() for each in found]
    if save is not None:
        save_json(save, {"format": format_of("comparison"), "comparisons": plain, "error": failure and str(failure)})
    if found and as_json:
        show_json(plain)
    elif found:
        _show(found, operators)
        if show_path is not None:
            for task in compared:
                show_path(opened[task], max_cycles)
    if not as_json:
        show_written(save, waves if found else None)
    if failure is not None:
        raise failure
    _judge(found)
    if not as_json:
        click.echo(f"ok: RTL, fast model and interpreter agree on {_several(len(found), 'program')}")


def _open(
    specs: tuple[str, ...], arguments: dict[str, Value], of_one: dict[str, Path | None], elsewhere: bool
) -> dict[Task, Program]:
    """All programs, before the first of them is built; options ``of_one`` want no other."""
    given = [option for option, value in of_one.items() if value is not None]
    if elsewhere and given:
        raise InputError(f"{given[0]} needs one program, and --jobs and --scheduler are for several")
    inputs = of_one["--inputs"]
    if inputs is not None and len(specs) == 1:
        return {(0, specs[0], 0): load_program(specs[0], inputs, arguments)}
    opened = {
        (place, spec, number): program
        for place, spec in enumerate(specs)
        for number, program in enumerate(load_programs(spec, arguments))
    }
    if not opened:
        raise FormatError(f"there is no program in {', '.join(specs)}")
    if given and len(opened) != 1:
        raise InputError(f"{given[0]} needs one program, but there are {len(opened)}")
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
