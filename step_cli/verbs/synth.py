"""``step synth``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import click

from cosim.synthesis.closing import AIM, close
from cosim.synthesis.estimate import estimate
from cosim.synthesis.families.ecp5 import DEVICES, SPEEDS, Ecp5
from cosim.synthesis.families.family import CellFamily
from cosim.synthesis.families.osu018 import LIBERTY, Osu018
from cosim.synthesis.families.ultrascale import UltraScale
from cosim.synthesis.macros import Macros
from cosim.synthesis.measure import measure
from cosim.synthesis.report import ClockResult, Report
from step.errors import FabricError
from step.host.amounts import MEGAHERTZ
from step.lowering.netlist import lower
from step.programs.files.fitted import FittedFile
from step.running.backend import run
from step_cli.console import as_json, show, table, warn, working
from step_cli.options import Amount, Count, ProgramAndInputs, Read, Written
from step_cli.verb import options_for, verb
from step_explore.areas import area_of


@verb
def command(
    *,
    program: ProgramAndInputs,
    family: Annotated[
        str,
        click.Choice([Ecp5.name, UltraScale.name, Osu018.name]),
        "Lattice ECP5, AMD UltraScale+ (area and levels of logic), or standard cells of 180 nm.",
    ] = Ecp5.name,
    device: Annotated[str | None, click.Choice(list(DEVICES)), "The ECP5 (LFE5U).  [default: 85k]"],
    speed: Annotated[str | None, click.Choice(SPEEDS), "Its speed grade.  [default: 6]"],
    target: Annotated[float | None, Amount(MEGAHERTZ, 1), "The clock to aim at, in MHz.  [default: 100]"],
    seeds: Annotated[Count, "Runs of place and route; medians count.  [default: 1]"],
    liberty: Annotated[Path | None, f"The cells of osu018.  [default: {LIBERTY}]"],
    macros: Annotated[Read, "SRAM that there is beside them, as step schema macros describes it."],
    place: Annotated[bool | None, "Find clocks, too; without, area only.  [default: place]"],
    quick: Annotated[bool, "--estimate", "Area without synthesis, in seconds and roughly."],
    mhz: Annotated[float | None, Amount(MEGAHERTZ, 1), "Add registers until the median clock is so many MHz."],
    save: Annotated[Written, "Write the fabric that --mhz finds, for --fitted."],
) -> None:
    """Area and clock of a program on an FPGA or in standard cells: Yosys, then nextpnr or OpenSTA.

    With --mhz channels on slow paths get hops, and slow arithmetic more stages, until all paths are fast enough.

    Every module is synthesised once and kept in the cache, so an interrupted command goes on where it was.
    """
    chosen = _family(family, options_for(Osu018), options_for(Ecp5))
    if place and not chosen.runs:
        raise click.UsageError(f"--place: {chosen.untimed}")
    if mhz is not None:
        if not isinstance(chosen, Ecp5) or place is False or quick:
            raise click.UsageError(
                f"--mhz places on an {Ecp5.name}: leave out --no-place, --estimate and other families"
            )
        _close(program, chosen if chosen.target != Ecp5.target else replace(chosen, target=mhz * AIM), mhz, save)
        return
    if save is not None:
        raise click.UsageError("--save is for the fabric that --mhz finds")
    opened = program.load()
    lowered = lower(opened.graph, opened.fabric)
    with working() as progress:
        if not quick:
            report = measure(lowered, chosen, place=place is not False, progress=progress)
        elif isinstance(chosen, Ecp5):
            report = estimate(lowered, chosen)
        else:
            raise click.UsageError(f"--estimate knows the cells of {Ecp5.name} alone, not those of {family}")
    show(report.to_json(), _texts(report, "estimated" if quick else None))
    if place is None and not quick and not chosen.runs and not as_json():
        what = "area and levels of logic, which are no clock" if chosen.has_levels else "area only"
        warn([f"{what}: {chosen.untimed}"])
    if report.misfit:
        if place is not False and not quick:
            raise FabricError(report.misfit)
        if not as_json():
            warn([report.misfit])


def _close(given: ProgramAndInputs, family: Ecp5, megahertz: float, save: Path | None) -> None:
    """Find a fabric with this clock, and show and ``save`` it; raises `FabricError` where there is none."""
    program = given.load()
    with working() as progress:
        found = close(program, family, megahertz, progress=progress)
    before, after = (run(each, "approx").cycles for each in (program, found.program))
    plain = {"cycles": after, "without": before, "changed": found.changed, "missed": found.missed}
    text = f"{program.name} takes {after:,} cycles with these registers, {before:,} without"
    saved = save if found.missed is None else None
    if saved is not None:
        area = area_of(lower(found.program.graph, found.program.fabric)).rounded()
        own, (_, depths) = replace(given, fitted=None, settings=()).load(), given.fitting(())
        fabric = found.program.fabric
        fabric = fabric if fabric.memory.dram else replace(fabric, mhz=megahertz)
        FittedFile.of(own, fabric, depths, after, area).save(saved)
    show({**found.report.to_json(), **plain}, [*found.changed, *_texts(found.report, None), text], saved)
    if found.missed is not None:
        raise FabricError(f"no register is left for the slowest path: {found.missed}")


def _family(name: str, asic: dict[str, Path], ecp5: dict[str, Any]) -> CellFamily[Any]:
    """The family of this ``name``; raises `click.UsageError` where something is chosen that it does not have."""
    for of, options in ((Osu018.name, asic), (Ecp5.name, ecp5)):
        if options and name != of:
            raise click.UsageError(f"--{next(iter(options))} is for --family {of}, not for {name}")
    if name == Osu018.name:
        macros = asic.get("macros")
        return Osu018(asic.get("liberty", LIBERTY), None if macros is None else Macros.load(macros))
    if name == UltraScale.name:
        return UltraScale()
    return Ecp5(**{**ecp5, "device": DEVICES[ecp5.get("device", "85k")]})


def _texts(report: Report, how: str | None) -> Iterator[str]:
    heads = report.family.nothing.columns
    title = ", ".join(filter(None, (f"{report.program} {report.family.title}", how)))
    parts = [(each.name, each) for each in report.units] + [(f"channel {each.name}", each) for each in report.channels]
    deep = report.family.has_levels
    rows = [(name, *each.area.columns.values(), each.levels if deep else _median(each.clock)) for name, each in parts]
    rows.append(("all", *report.area.columns.values(), report.levels if deep else _median(report.clock)))
    yield table(title, ("part", *heads, "levels" if deep else "MHz"), rows)
    yield from report.family.notes(report.area)
    timed = [(each.name, each.clock) for each in report.units if each.clock is not None]
    whole = [] if report.clock is None else [("all", report.clock)]
    for name, clock in (*whole, *sorted(timed, key=lambda each: each[1].median)):
        yield f"slowest path of {name}: {' > '.join(clock.path)}"


def _median(clock: ClockResult | None) -> str | None:
    return None if clock is None else f"{clock.median:.0f}"
