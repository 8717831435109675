"""Registers where the slowest paths are, until a clock is met: ``step synth --mhz``."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cosim.synthesis.families.ecp5 import Ecp5
from cosim.synthesis.measure import measure
from cosim.synthesis.report import ClockResult, Report
from step.host.progress import Progress, silent
from step.language.graph import Node
from step.lowering.by_operator import CUTS
from step.lowering.fabric import with_settings
from step.lowering.feasible import with_cuts
from step.lowering.limits import MOST_STAGES
from step.lowering.netlist import Netlist, lower
from step.lowering.plans import plan_of
from step.programs.program import Program

AIM = 1.25
"""The clock that tools aim at, as a multiple of the one that is wanted: they try no further where it is met."""

MOST_HOPS = 2
"""Hops of a channel from which on its own wires are not what is slow."""


@dataclass(frozen=True)
class Closed:
    """A ``program`` on a fabric with more registers, and the ``report`` on it.

    ``changed``: in words, each register and the path that it is for. ``missed``: the path that is still too slow, where
    no register is left that would cut it; None where the clock is met.
    """

    program: Program
    report: Report
    changed: tuple[str, ...]
    missed: str | None


def close(
    program: Program, family: Ecp5, megahertz: float, *, whole: bool = True, progress: Progress = silent
) -> Closed:
    """``program`` with hops and stages so that each of its units, and the ``whole`` where that is wanted and fits, has
    a clock of so many ``megahertz``, in the median of all seeds.

    Of the channels on a slowest path those with the fewest hops have one more, `MOST_HOPS` at most. Where all have so
    many, or there is none, the first unit on it whose arithmetic can be cut more finely is. With it all other units
    that are reached too late are cut more finely. First all units are looked at alone, then the whole.

    Raises as `measure` does.
    """
    changed: list[str] = []
    while True:
        netlist = lower(program.graph, program.fabric)
        report = measure(netlist, family, whole=False, progress=progress)
        slow = _slow(report, megahertz)
        if not slow and whole:
            report = measure(netlist, family, progress=progress)
            slow = _slow(report, megahertz)
        settings: dict[str, str] = {}
        for name, clock in slow:
            told = f"{name} has {clock.median:.1f} of {megahertz:g} MHz, from {' to '.join(clock.ends)}"
            found = _cure(netlist, clock, 1000 / megahertz)
            if not found:
                return Closed(program, report, tuple(changed), told)
            settings = dict.fromkeys(found, told) | settings
        if not slow:
            return Closed(program, report, tuple(changed), None)
        changed += [f"{setting}: {told}" for setting, told in settings.items()]
        program = replace(program, fabric=with_settings(program.fabric, settings))


def _slow(report: Report, megahertz: float) -> list[tuple[str, ClockResult]]:
    """Units, and the whole, whose clock is too slow, with their clocks."""
    parts = [(each.name, each.clock) for each in report.units] + [(report.program, report.clock)]
    return [(name, clock) for name, clock in parts if clock is not None and clock.median < megahertz]


def _cure(netlist: Netlist, clock: ClockResult, nanoseconds: float) -> list[str]:
    """Parameters of the fabric with registers in the path of ``clock``, and in all arithmetic that is reached later
    than that; none, where there are none in the path."""
    names = {f"channel {each.name}": each for each in netlist.channels}
    channels = [names[part] for part in dict.fromkeys(clock.path) if part in names]
    fewest = min((each.hops for each in channels), default=MOST_HOPS)
    finer = {unit.name: setting for unit in with_cuts(netlist) if (setting := _finer(netlist, unit))}
    found = [f"hops.{each.name}={fewest + 1}" for each in channels if each.hops == fewest < MOST_HOPS]
    found = found or [setting for name, setting in finer.items() if name in clock.path][:1]
    late = [setting for name, setting in finer.items() if clock.arrivals.get(name, 0) > nanoseconds]
    return found and list(dict.fromkeys(found + late))


def _finer(netlist: Netlist, unit: Node) -> str | None:
    """The parameter with which arithmetic of ``unit`` takes more cycles; None where it has the finest cut."""
    own = netlist.at(unit)
    plans = {stages: plan_of(unit, replace(own, stages=stages)) for stages in range(own.stages, MOST_STAGES + 1)}
    finer = (stages for stages, plan in plans.items() if plan.latency > plans[own.stages].latency)
    return next((f"{CUTS}.{unit.name}={stages}" for stages in finer), None)
