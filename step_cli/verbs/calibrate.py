"""``step calibrate``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import click

from step.errors import InputError, SimulationError, expect
from step.lowering.fabric import FabricConfig
from step.programs.files.json_file import header
from step.programs.program import load_program
from step.running.backend import backend
from step_cli.console import as_json, both, show, table, working
from step_cli.files import save_json
from step_cli.options import Arguments, Settings, Written, on_fabric, set_fabric
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
            expect(not given, f"{option} has no effect without a PROGRAM", InputError)
        benches = standard_benches(fabric)
    else:
        opened = on_fabric(load_program(program, None, arguments), None, settings)
        fabric, benches = opened.fabric, iter([bench_of(opened)])
    with working() as progress:
        found = [unit for bench in benches for unit in bench.measure(progress)]
    plain = {
        **header("calibration"),
        "program": program,
        "fabric": fabric.to_json(),
        "units": [*map(asdict, found)],
    }
    if save is not None:
        save_json(save, plain)
    show(plain, _table(found), save)
    if apart := [each.unit for each in found if not each.agrees]:
        raise SimulationError(f"{len(apart)} of {_units(found)} are not as planned: {', '.join(apart)}")
    if not as_json():
        click.echo(f"ok: {_units(found)} as planned, in the cycle of every token")


def _table(found: Sequence[UnitCycles]) -> str:
    pacings, rows = ("interval", "latency"), []
    for each in found:
        cells = (both(getattr(each.expected, name), getattr(each.measured, name)) for name in pacings)
        rows.append((each.unit, each.words, *cells, each.residual))
    return table("by plan | in RTL where it differs", ("unit", "words", *pacings, "residual"), rows)


def _units(found: Sequence[UnitCycles]) -> str:
    return f"{len(found)} unit" + ("" if len(found) == 1 else "s")
