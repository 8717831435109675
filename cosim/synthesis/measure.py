"""Area and clock of a program, module by module and as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from cosim.synthesis.families.family import CellFamily
from cosim.synthesis.flow import Flow
from cosim.synthesis.jobs import side_by_side
from cosim.synthesis.report import ClockResult, Report
from cosim.synthesis.surround import between_channels
from hw.design.emit import check_synthesisable
from hw.fabric import ElaboratedFabric, elaborate
from hw.links.layout import input_formats, output_formats
from hw.verilog.convert import ModuleLibrary
from hw.verilog.structure import Structure
from step.host.progress import Progress, silent
from step.lowering.netlist import Netlist


def measure(
    program: Netlist,
    family: CellFamily[Any],
    *,
    place: bool = True,
    whole: bool = True,
    progress: Progress = silent,
) -> Report:
    """Synthesise every distinct module of ``program`` once; with ``place`` find its clocks too, where there are some,
    or its levels of logic.

    A unit's clock is that of the unit between two channels, the whole program's that of all of it where it fits, if the
    ``whole`` is wanted. Every step is kept in the cache as it ends.

    Raises `FabricError` for a program that can not be synthesised, `EnvironmentProblem` for missing tools and
    `BuildError` where one fails.
    """
    check_synthesisable(program)
    identity = family.check()
    deep, place = place and family.has_levels, place and bool(family.runs)
    fabric = elaborate(program)
    units = {each.component.module_name: each for each in fabric.units}
    hops = _hops(fabric)
    around = {
        name: between_channels(
            unit.component, input_formats(unit.node, program), output_formats(unit.node, program), hops[name]
        )
        for name, unit in units.items()
        if place or deep
    }
    library = ModuleLibrary(initial_values=family.initial_values, generic=False)
    library.require_all(fabric.structure, *around.values())
    flow = Flow(library.texts(), identity, family)
    names = sorted({instance.component.module_name for instance in fabric.structure.instances})
    areas = side_by_side([(name, partial(flow.area, name)) for name in names], "synthesising", progress)
    report = Report.of(fabric, family, dict(zip(names, areas, strict=True)))
    designs = [(fabric.structure, part_names(fabric))] if place and whole and not family.lacks(report.area) else []
    designs += [(structure, _places(structure)) for structure in around.values()]
    clocks = _clocks(flow, designs, progress) if place else {}
    levels = _levels(flow, list(around.values()), progress) if deep else {}

    parts = []
    for each in report.units:
        name = around[each.module].name if each.module in around else ""
        clock = clocks.get(name)
        if clock is not None:
            around_it = {"unit": each.name, **_ports(program, each.name)}
            clock = replace(clock, path=tuple(around_it.get(place, place) for place in clock.path))
        parts.append(replace(each, clock=clock, levels=levels.get(name)))
    return replace(report, units=tuple(parts), clock=clocks.get(fabric.structure.name))


def part_names(fabric: ElaboratedFabric) -> dict[str, str]:
    """Names of operators, channels and scratchpads by those of their instances."""
    names = {each.instance: each.node.name for each in fabric.units}
    names |= {each.stem: f"channel {each.edge.name}" for each in fabric.channels}
    return names | {each.stem: each.name for each in fabric.scratchpads}


def _hops(fabric: ElaboratedFabric) -> dict[str, dict[str, int]]:
    """Hops of the channel at each port of a module, the fewest of all units that are it; none where nobody reads."""
    found: dict[str, dict[str, int]] = {}
    for unit in fabric.units:
        hops = found.setdefault(unit.component.module_name, {})
        ends = ("input", fabric.netlist.inputs(unit.node)), ("output", fabric.netlist.outputs(unit.node))
        for name, channels in ends:
            for at, channel in enumerate(channels):
                own = 0 if channel is None else channel.hops
                hops[f"{name}{at}"] = min(own, hops.get(f"{name}{at}", own))
    return found


def _ports(program: Netlist, unit: str) -> dict[str, str]:
    """Names of the channels around a ``unit``, by those of `_places`."""
    node = program.graph.nodes[unit]
    ends = ("before input", program.inputs(node)), ("behind output", program.outputs(node))
    return {
        f"channel {end}{at}": f"channel {channel.name}"
        for end, channels in ends
        for at, channel in enumerate(channels)
        if channel is not None
    }


def _places(structure: Structure) -> dict[str, str]:
    """Names of the instances around a unit, as a reader of its clock wants them."""
    return {
        instance.name: f"channel {instance.name.replace('_', ' ')}" if "_" in instance.name else instance.name
        for instance in structure.instances
    }


def _levels(flow: Flow, designs: Sequence[Structure], progress: Progress) -> dict[str, int]:
    """The levels of logic of each design, by its name."""
    jobs = [(each.name, partial(flow.netlist, each)) for each in designs]
    return {each.name: each.levels for each in side_by_side(jobs, "joining", progress)}


def _clocks(
    flow: Flow, designs: Sequence[tuple[Structure, dict[str, str]]], progress: Progress
) -> dict[str, ClockResult]:
    """The clock of each design that fits, by its name; a design comes with the names of its instances."""
    family = flow.family
    joined = side_by_side([(each.name, partial(flow.netlist, each)) for each, _ in designs], "joining", progress)
    fitting = {each: names for each, (_, names) in zip(joined, designs, strict=True) if not family.lacks(each.area)}
    jobs = [(each, run) for each in fitting for run in family.runs]
    placed = side_by_side([(f"{each.name}, {run}", partial(each.time, run)) for each, run in jobs], "placing", progress)
    found = dict(zip(jobs, placed, strict=True))
    clocks = {}
    for netlist, names in fitting.items():
        timings = [found[netlist, run] for run in family.runs]
        median = sorted(timings, key=lambda each: each.mhz)[len(timings) // 2]
        mhz = tuple(each.mhz for each in timings)
        clocks[netlist.name] = ClockResult(mhz, median.path(names), median.ends, median.by_part(names))
    return clocks
