"""``step calibrate``."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from step.errors import InputError
from step.host.files import writing
from step.lowering.fabric import FabricConfig
from step.programs.program import Program, load_programs
from step.running.backend import backend
from step_cli.console import show_json, show_rows, show_written, talk, working
from step_cli.files import writable
from step_cli.options import FILE, Json, Settings, set_fabric
from step_cli.verb import NATURAL, Kind, verb

if TYPE_CHECKING:
    from step_check.calibration.campaign import Campaign


@verb
def command(
    *,
    programs: Annotated[tuple[str, ...], Kind.ARGUMENT],
    settings: Settings,
    path: Annotated[Path, FILE, writable, "-o", "--output", "The calibration. One that is there is gone on with."],
    held_out: Annotated[tuple[str, ...], "PROGRAM", "Compare this program as well, and name it there."],
    seed: Annotated[int | None, NATURAL, "Of the numbers that the units work on (default: 0)."],
    as_json: Json,
) -> None:
    """Measure on RTL how long units take, for `step run --backend approx --calibration FILE`.

    What PROGRAMs need, or without any every function on the default fabric, each alone between sources that never
    pause and sinks that always take. What the file has of the same RTL stays, so a command that was
    interrupted goes on where it was.
    """
    backend("rtl")  # says what to install where a module is missing
    from step_check.calibration.campaign import Campaign

    measured, apart = _open(programs, settings), _open(held_out, settings)
    fabrics = [each.fabric for each in (*measured, *apart)] or [set_fabric(FabricConfig(), settings)]
    campaign = Campaign.on(path, fabrics, seed)
    try:
        with working() as campaign.progress, writing(path):
            campaign.all(measured, apart)
    except KeyboardInterrupt:
        talk(f"{_units(campaign.measured)} measured; the same command goes on from there")
        raise
    if as_json:
        show_json(campaign.calibration.to_json())
        return
    _show(campaign)
    show_written(path)


def _open(specs: tuple[str, ...], settings: tuple[str, ...]) -> list[Program]:
    """All programs, on the fabric of ``settings``."""
    opened = [program for spec in specs for program in load_programs(spec)]
    if specs and not opened:
        raise InputError(f"there is no program in {', '.join(specs)}")
    return [replace(each, fabric=set_fabric(each.fabric, settings)) for each in opened]


def _show(campaign: Campaign) -> None:
    memory = campaign.calibration.memory
    if memory is not None:
        click.echo(f"memory: interval {memory.interval:,}, latency {memory.latency:,}")
    if campaign.measured:
        title = f"{_units(campaign.measured)} measured; of functions by the formulas, where they differ"
        headings = ("unit", "beats", "interval", "latency", "samples", "spread", "residual")
        show_rows(title, headings, _rows(campaign))
    if campaign.kept:
        click.echo(f"{_units(campaign.kept)} in the file already, of the same RTL")
    for each in campaign.calibration.held_out.values():
        click.echo(each)


def _units(keys: Collection[str]) -> str:
    return "1 unit" if len(keys) == 1 else f"{len(keys):,} units"


def _rows(campaign: Campaign) -> Iterator[list[str]]:
    for key in campaign.measured:
        unit = campaign.calibration.units[key]
        interval, latency = campaign.formulas[key]
        yield [
            str(unit.applied),
            *(str(unit.beats), _both(unit.interval, interval), _both(unit.latency, latency)),
            *map(str, (unit.samples, unit.spread, unit.residual)),
        ]


def _both(measured: int, formula: int) -> str:
    return str(measured) if measured == formula else f"{measured} | {formula}"
