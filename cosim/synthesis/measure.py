"""Area and clock of a program, module by module and as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from operator import add
from threading import Lock
from typing import Any

from cosim.synthesis.cells import Cells
from cosim.synthesis.families.family import CellFamily, Timing
from cosim.synthesis.flow import Flow, MappedDesign
from cosim.synthesis.jobs import Stop, side_by_side
from cosim.synthesis.report import ClockResult, Component, Report
from cosim.synthesis.surround import between_channels
from hw.design.emit import check_synthesisable
from hw.fabric import elaborate
from hw.links.layout import input_formats, output_formats
from hw.verilog.convert import ModuleLibrary
from hw.verilog.structure import Structure
from step.host.progress import Progress, silent
from step.lowering.netlist import Netlist


def measure(program: Netlist, family: CellFamily[Any], *, place: bool = True, progress: Progress = silent) -> Report:
    """Synthesise every distinct module of ``program`` once; with ``place`` find its clocks too, where there are some.

    A unit's clock is that of the unit between two channels, the whole program's that of all of it where it fits. Every
    step is kept in the cache as it ends.

    Raises `FabricError` for a program that can not be synthesised, `EnvironmentProblem` for missing tools and
    `BuildError` where one fails.
    """
    check_synthesisable(program)
    identity = family.check()
    place = place and bool(family.runs)
    fabric = elaborate(program)
    units = {each.component.module_name: each for each in fabric.units}
    around = {
        name: between_channels(unit.component, input_formats(unit.node, program), output_formats(unit.node, program))
        for name, unit in units.items()
        if place
    }
    library = ModuleLibrary(initial_values=family.initial_values)
    for structure in (fabric.structure, *around.values()):
        for instance in structure.instances:
            library.require(instance.component)
    work = _Jobs(Flow(library.texts(), identity, family), progress)

    names = sorted({instance.component.module_name for instance in fabric.structure.instances})
    areas = dict(zip(names, work.areas(names), strict=True))
    area = reduce(add, (areas[each.component.module_name] for each in fabric.structure.instances), family.nothing)
    fits = not family.lacks(area)
    labels = {each.instance: each.node.name for each in fabric.units}
    labels |= {each.stem: f"channel {each.edge.name}" for each in fabric.channels}
    labels |= {each.stem: each.name for each in fabric.scratchpads}
    designs = [(fabric.structure, labels)] if place and fits else []
    designs += [(structure, _places(structure)) for structure in around.values()]
    clocks = dict(zip((structure.name for structure, _ in designs), work.clocks(designs), strict=True))

    parts = []
    for unit in fabric.units:
        module = unit.component.module_name
        clock = clocks.get(around[module].name) if place else None
        if clock is not None:
            clock = replace(clock, path=tuple(unit.node.name if each == "unit" else each for each in clock.path))
        parts.append(Component(unit.node.name, unit.node.operator.name, module, areas[module], clock))
    parts += [
        Component(each.name, "scratchpad", each.component.module_name, areas[each.component.module_name])
        for each in fabric.scratchpads
    ]
    channels = [
        Component(each.edge.name, "channel", each.component.module_name, areas[each.component.module_name])
        for each in fabric.channels
    ]
    whole = clocks.get(fabric.structure.name)
    return Report(program.graph.name, family, tuple(parts), tuple(channels), area, whole)


def _places(structure: Structure) -> dict[str, str]:
    """Names of the instances around a unit, as a reader of its clock wants them."""
    return {
        instance.name: f"channel {instance.name.replace('_', ' ')}" if "_" in instance.name else instance.name
        for instance in structure.instances
    }


class _Jobs:
    """Runs jobs side by side and tells how far they are."""

    def __init__(self, flow: Flow, progress: Progress) -> None:
        self._flow, self._progress = flow, progress
        self._lock = Lock()

    def areas(self, modules: Sequence[str]) -> list[Cells]:
        """The cells of each module alone."""
        tell = self._teller("synthesising", len(modules))
        return side_by_side(partial(self._area, name, tell) for name in modules)

    def clocks(self, designs: Sequence[tuple[Structure, dict[str, str]]]) -> list[ClockResult | None]:
        """The clock of each design, given with the names of its instances; None for one that does not fit."""
        tell = self._teller("joining", len(designs))
        netlists = side_by_side(partial(self._netlist, structure, tell) for structure, _ in designs)
        family = self._flow.family
        fitting = [each for each in netlists if not family.lacks(each.area)]
        jobs = [(each, run) for each in fitting for run in family.runs]
        tell = self._teller("placing", len(jobs))
        found = dict(zip(jobs, side_by_side(partial(self._time, *job, tell) for job in jobs), strict=True))
        return [
            self._clock([found[netlist, run] for run in family.runs], names) if netlist in fitting else None
            for netlist, (_, names) in zip(netlists, designs, strict=True)
        ]

    @staticmethod
    def _clock(timings: list[Timing], names: dict[str, str]) -> ClockResult:
        ordered = sorted(timings, key=lambda each: each.mhz)
        return ClockResult(tuple(each.mhz for each in timings), ordered[len(ordered) // 2].path(names))

    def _area(self, module: str, tell: Progress, stop: Stop) -> Cells:
        tell(module)
        return self._flow.area(module, stop)

    def _netlist(self, structure: Structure, tell: Progress, stop: Stop) -> MappedDesign:
        tell(structure.name)
        return self._flow.netlist(structure, stop)

    def _time(self, netlist: MappedDesign, run: str, tell: Progress, stop: Stop) -> Timing:
        tell(f"{netlist.name}, {run}")
        return netlist.time(run, stop)

    def _teller(self, doing: str, total: int) -> Progress:
        started = iter(range(1, total + 1))

        def tell(what: str) -> None:
            with self._lock:
                self._progress(f"{doing} {what} ({next(started)} of {total})")

        return tell
