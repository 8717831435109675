"""Depths of channels that are fitted behind the lanes: what a program asks for may be more than it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from step.lowering.netlist import Channel, Netlist, lower
from step_explore.areas import area_of
from step_explore.areas import units as areas
from step_explore.areas.model import priced
from step_explore.fifos.shrink import LEAST, shrink
from step_explore.fitting.goal import Goal
from step_explore.fitting.trials import Choice, Trials


def shallower(trials: Trials, found: Choice, goal: Goal) -> Choice:
    """``found`` with channels that are less deep where that takes fewer LUT sites, and no more cycles than ``goal``
    says, or than there are.

    A channel that becomes so small that its memory is of LUTs is larger than in block RAM, so not all become so.
    """
    netlist = lower(trials.program.graph, found.fabric)
    deep = {each.name: each for each in netlist.channels if each.depth > LEAST}
    run = trials.depths(found.fabric)
    most = found.cycles if goal.cycles is None else max(goal.cycles, found.cycles)

    def good(all_depths: Sequence[Mapping[str, int]]) -> list[bool]:
        small = [each for each in all_depths if _no_larger(netlist, deep, each)]
        cycles = {id(each): run(each) for each in small}
        return [(taken := cycles.get(id(each))) is not None and taken <= most for each in all_depths]

    asked = {name: each.depth for name, each in deep.items()}
    order = sorted(deep, key=lambda name: (-asked[name] * netlist.words(deep[name]), name))
    depths = shrink(asked, order, good)
    changed = {name: depth for name, depth in depths.items() if depth != asked[name]}
    cycles = run(changed)
    assert cycles is not None
    shallow = Choice(found.fabric, area_of(netlist.with_depths(changed)), cycles, changed)
    return shallow if goal.cost(shallow) < goal.cost(found) else found


def _no_larger(netlist: Netlist, deep: Mapping[str, Channel], depths: Mapping[str, int]) -> bool:
    """Whether no channel takes more LUT sites with these ``depths``, or more block RAMs and as many sites."""
    producers = netlist.graph.nodes
    for name, channel in deep.items():
        if depths[name] != channel.depth:
            waiting = areas.in_flight(netlist, producers[channel.producer[0]])
            shallow = replace(channel, depth=depths[name])
            before, after = (priced(areas.channel(netlist, each, waiting)) for each in (channel, shallow))
            if after.lut_sites > before.lut_sites:
                return False
    return True
