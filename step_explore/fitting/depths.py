"""Depths of channels that are fitted behind the lanes: what a program asks for may be more than it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress

from sim_approx.simulator import Simulator
from step.lowering.netlist import Channel, Netlist
from step_explore.areas import area_of
from step_explore.areas import units as areas
from step_explore.areas.model import priced
from step_explore.fifos.runs import Depths, Runs
from step_explore.fifos.shrink import LEAST, shrink
from step_explore.fitting.goal import Goal
from step_explore.fitting.trials import Choice, Trials


def shallower(trials: Trials, found: Choice, goal: Goal) -> Choice:
    """``found`` with channels that are less deep where that takes fewer LUT sites, and no more cycles than ``goal``
    says, or than there are.

    A channel that becomes so small that its memory is of LUTs is larger than in block RAM, so not all become so.
    """
    netlist = trials.netlist(found.fabric)
    runs = Runs(netlist, [Simulator(trials.program, fabric=found.fabric)], threads=1)
    deep = {each.name: each for each in netlist.channels if each.depth > LEAST}
    most = found.cycles if goal.cycles is None else max(goal.cycles, found.cycles)

    def good(candidates: Sequence[Depths]) -> list[bool]:
        small = [_no_larger(netlist, deep, each) for each in candidates]
        ran = iter(runs.outcomes([{**runs.asked, **each} for each in compress(candidates, small)]))
        return [is_small and (cycles := next(ran).cycles) is not None and cycles[0] <= most for is_small in small]

    asked = {name: each.depth for name, each in deep.items()}
    order = sorted(deep, key=lambda name: (-asked[name] * netlist.words(deep[name]), name))
    depths = shrink(asked, order, good)
    changed = {name: depth for name, depth in depths.items() if depth != asked[name]}
    cycles = runs.outcome({**runs.asked, **changed}).cycles
    assert cycles is not None
    shallow = Choice(found.fabric, area_of(netlist.with_depths(changed)), cycles[0], changed)
    return shallow if goal.cost(shallow) < goal.cost(found) else found


def _no_larger(netlist: Netlist, deep: Mapping[str, Channel], depths: Mapping[str, int]) -> bool:
    """Whether no channel takes more LUT sites with these ``depths``."""

    def sites(channel: Channel) -> float:
        return priced(areas.channel(netlist, channel)).lut_sites

    changed = {name: each for name, each in deep.items() if depths[name] != each.depth}
    return all(sites(replace(each, depth=depths[name])) <= sites(each) for name, each in changed.items())
