"""``step calibrate``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape

from step.errors import InputError, SimulationError
from step.lowering.fabric import FabricConfig
from step.programs.files.json_file import written_by
from step.programs.program import load_program
from step.running.backend import backend
from step_cli.console import new_table, show_json, show_table, show_written, working
from step_cli.options import (
    arguments_option,
    check_kept,
    json_option,
    on_fabric,
    parse_arguments,
    save_json,
    set_fabric,
    settings_option,
    writable,
)

if TYPE_CHECKING:
    from step_check.calibration import UnitCycles

FORMAT = "step-calibration-2"


@click.command()
@click.argument("program", required=False)
@arguments_option
@settings_option
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), help="Write what was measured to this file.")
@json_option
def calibrate(
    program: str | None, arguments: tuple[str, ...], settings: tuple[str, ...], save: Path | None, as_json: bool
) -> None:
    """Measure in RTL how long every unit takes, and compare that with its plan.

    The functions of PROGRAM on its fabric, on what they read there; without one all operators and functions on the
    default fabric. Each stands alone between sources that never pause and sinks that always take.
    """
    backend("rtl")  # says what to install where a module is missing
    from step_check.calibration import bench_of, standard_benches

    if save is not None:
        writable(save)
    if program is None:
        fabric = set_fabric(FabricConfig(), settings)
        for option, given in {"--arg": arguments, "--set lanes.": fabric.lanes, "--set links.": fabric.links}.items():
            if given:
                raise InputError(f"{option} has no effect without a PROGRAM")
        benches = standard_benches(fabric)
    else:
        check_kept({"PROGRAM": Path(program.partition(":")[0])})
        opened = on_fabric(load_program(program, None, parse_arguments(arguments)), None, settings)
        fabric, benches = opened.fabric, iter([bench_of(opened)])
    with working() as progress:
        found = [unit for bench in benches for unit in bench.measure(progress)]
    plain = {
        "format": FORMAT,
        "written_by": written_by(),
        "program": program,
        "fabric": fabric.to_json(),
        "units": [each.to_json() for each in found],
    }
    if save is not None:
        save_json(save, plain)
    if as_json:
        show_json(plain)
    else:
        _show(found)
        show_written(save)
    if apart := [each.unit for each in found if not each.agrees]:
        raise SimulationError(f"{len(apart)} of {_units(found)} are not as planned: {', '.join(apart)}")
    if not as_json:
        click.echo(f"ok: {_units(found)} as planned, in the cycle of every token")


def _show(found: Sequence[UnitCycles]) -> None:
    table = new_table("by plan | in RTL where it differs", "unit", "words", "interval", "latency", "residual")
    for each in found:
        plan, rtl = each.expected, each.measured
        cells = _both(plan.interval, rtl.interval), _both(plan.latency, rtl.latency), _text(each.residual)
        table.add_row(escape(each.unit), str(each.words), *cells)
    show_table(table)


def _units(found: Sequence[UnitCycles]) -> str:
    return f"{len(found)} unit" + ("" if len(found) == 1 else "s")


def _both(expected: int | None, measured: int | None) -> str:
    return _text(expected) if expected == measured else f"{_text(expected)} | {_text(measured)}"


def _text(cycles: int | None) -> str:
    return "-" if cycles is None else f"{cycles:,}"
