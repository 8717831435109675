"""``step calibrate``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import click

from step.errors import InputError, SimulationError
from step.lowering.fabric import FabricConfig
from step.programs.files.json_file import format_of, written_by
from step.programs.program import load_program
from step.running.backend import backend
from step_cli.console import show_json, show_rows, show_written, working
from step_cli.files import save_json
from step_cli.options import Arguments, Json, Settings, Written, on_fabric, set_fabric
from step_cli.verb import Note, verb

if TYPE_CHECKING:
    from step_check.calibration import UnitCycles


@verb
def command(
    *,
    program: Annotated[str | None, Note.ARGUMENT],
    arguments: Arguments,
    settings: Settings,
    save: Annotated[Written, "Write what was measured to this file."],
    as_json: Json,
) -> None:
    """Measure in RTL how long every unit takes, and compare that with its plan.

    The functions of PROGRAM on its fabric, on what they read there; without one all operators and functions on the
    default fabric. Each stands alone between sources that never pause and sinks that always take.
    """
    backend("rtl")  # says what to install where a module is missing
    from step_check.calibration import bench_of, standard_benches

    if program is None:
        fabric = set_fabric(FabricConfig(), settings)
        for option, given in {"--arg": arguments, "--set lanes.": fabric.lanes, "--set links.": fabric.links}.items():
            if given:
                raise InputError(f"{option} has no effect without a PROGRAM")
        benches = standard_benches(fabric)
    else:
        opened = on_fabric(load_program(program, None, arguments), None, settings)
        fabric, benches = opened.fabric, iter([bench_of(opened)])
    with working() as progress:
        found = [unit for bench in benches for unit in bench.measure(progress)]
    plain = {
        "format": format_of("calibration"),
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
    rows = []
    for each in found:
        plan, rtl = each.expected, each.measured
        rows.append(
            (each.unit, each.words, _both(plan.interval, rtl.interval), _both(plan.latency, rtl.latency), each.residual)
        )
    headings = ("unit", "words", "interval", "latency", "residual")
    show_rows("by plan | in RTL where it differs", headings, rows)


def _units(found: Sequence[UnitCycles]) -> str:
    return f"{len(found)} unit" + ("" if len(found) == 1 else "s")


def _both(expected: int | None, measured: int | None) -> str:
    return _text(expected) if expected == measured else f"{_text(expected)} | {_text(measured)}"


def _text(cycles: int | None) -> str:
    return "-" if cycles is None else f"{cycles:,}"
