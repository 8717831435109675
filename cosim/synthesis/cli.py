"""``step synth``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from rich.table import Table

from cosim.synthesis.area import Area
from cosim.synthesis.devices import DEVICES, SPEEDS
from cosim.synthesis.estimate import estimate
from cosim.synthesis.measure import measure
from cosim.synthesis.report import Clock, Part, Report
from step.cli.console import show_json, show_table, working
from step.cli.options import json_option, open_program, program_options
from step.errors import FabricError
from step.lowering.netlist import lower


@click.command()
@program_options
@click.option("--device", type=click.Choice(list(DEVICES)), default="85k", show_default=True, help="The ECP5 (LFE5U).")
@click.option("--speed", type=click.Choice(SPEEDS), default="6", show_default=True, help="Its speed grade.")
@click.option(
    "--target", type=click.FloatRange(min=1), default=100, show_default=True, help="The clock to aim at, in MHz."
)
@click.option(
    "--seeds", type=click.IntRange(min=1), default=1, show_default=True, help="Runs of place and route; medians count."
)
@click.option("--place/--no-place", default=True, help="Place and route, for clocks; without, area only.")
@click.option("--estimate", "quick", is_flag=True, help="Area without synthesis, in seconds and roughly.")
@json_option
def synth(
    program: str,
    inputs: Path | None,
    settings: tuple[str, ...],
    device: str,
    speed: str,
    target: float,
    seeds: int,
    place: bool,
    quick: bool,
    as_json: bool,
) -> None:
    """Area and clock of a program on an FPGA: Yosys, then nextpnr.

    Every module is synthesised once and kept in the cache, so an interrupted command goes on where it was.
    """
    opened = open_program(program, inputs, settings)
    lowered = lower(opened.graph, opened.fabric)
    with working() as progress:
        if quick:
            report = estimate(lowered, DEVICES[device])
        else:
            report = measure(
                lowered, DEVICES[device], speed=speed, target=target, seeds=seeds, place=place, progress=progress
            )
    if as_json:
        show_json(report.to_json())
    else:
        _show(report, "estimated" if quick else f"grade {speed}")
    if place and not quick and report.misfit:
        raise FabricError(report.misfit)


_AREA = ("LUT4", "DPR16X4", "CCU2C", "FF", "DSP", "BRAM", "LUT sites")


def _show(report: Report, how: str) -> None:
    table = Table(title=f"{report.program} on an {report.device.part}, {how}")
    for heading in ("part", "kind", *_AREA, "MHz", "slowest path"):
        table.add_column(heading, justify="left" if heading in ("part", "kind", "slowest path") else "right")
    _add(table, report.units)
    table.add_section()
    _add(table, report.channels)
    table.add_section()
    table.add_row("all", "", *_numbers(report.area), *_clock(report.clock))
    show_table(table)


def _add(table: Table, parts: Sequence[Part]) -> None:
    for each in parts:
        table.add_row(each.name, each.kind, *_numbers(each.area), *_clock(each.clock))


def _numbers(area: Area) -> list[str]:
    values = (area.lut4, area.dpr16x4, area.ccu2c, area.ff, area.dsp, area.block_ram, area.comb_sites)
    return [f"{value:,}" for value in values]


def _clock(clock: Clock | None) -> tuple[str, str]:
    return (f"{clock.median:.0f}", " > ".join(clock.path)) if clock is not None else ("", "")
