"""``step synth``."""

from __future__ import annotations

from collections.abc import Iterator

import click
from rich.markup import escape

from cosim.synthesis.area import Area
from cosim.synthesis.devices import DEVICES, SPEEDS
from cosim.synthesis.estimate import estimate
from cosim.synthesis.measure import measure
from cosim.synthesis.report import Clock, Report
from step.cli.console import new_table, show_json, show_table, warn, working
from step.cli.options import Given, json_option, program_options
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
    given: Given,
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
    opened = given.program()
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
    if report.misfit:
        if place and not quick:
            raise FabricError(report.misfit)
        if not as_json:
            warn([report.misfit])


_AREA = ("LUT4", "DPR16X4", "CCU2C", "FF", "DSP", "BRAM", "sites")


def _show(report: Report, how: str) -> None:
    table = new_table(f"{report.program} on an {report.device.part}, {how}", "part", *_AREA, "MHz")
    parts = [(each.name, each) for each in report.units] + [(f"channel {each.name}", each) for each in report.channels]
    for name, each in parts:
        table.add_row(escape(name), *_numbers(each.area), _median(each.clock))
    table.add_row("all", *_numbers(report.area), _median(report.clock))
    show_table(table)
    for name, clock in _slowest(report):
        click.echo(f"slowest path of {name}: {' > '.join(clock.path)}")


def _slowest(report: Report) -> Iterator[tuple[str, Clock]]:
    """What has a clock, the slowest first, and the whole before all of its parts."""
    if report.clock is not None:
        yield "all", report.clock
    timed = [(each.name, each.clock) for each in report.units if each.clock is not None]
    yield from sorted(timed, key=lambda each: each[1].median)


def _numbers(area: Area) -> list[str]:
    values = (area.lut4, area.dpr16x4, area.ccu2c, area.ff, area.dsp, area.block_ram, area.comb_sites)
    return [f"{value:,}" for value in values]


def _median(clock: Clock | None) -> str:
    return "-" if clock is None else f"{clock.median:.0f}"
