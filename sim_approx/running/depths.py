"""The smallest channel depths that clear a deadlock, found by running again with other depths."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sim_approx.placing.build import TimingOf
from sim_approx.running.simulation import EngineName, Model, Simulation
from step.lowering.netlist import Netlist
from step.programs.data.inputs import BoundInputs
from step.running.deadlock import Snapshot, full_channels
from step.running.result import Status

ENOUGH = 1 << 40
"""A depth that no run fills."""

Rerun = Callable[[Mapping[str, int]], Simulation]
"""Runs with other depths, after which nothing is left of the last run but what was taken from it."""


def depths_that_clear(
    netlist: Netlist,
    data: BoundInputs,
    snapshot: Snapshot,
    *,
    max_cycles: int | None = None,
    timing_of: TimingOf | None = None,
    engine: EngineName | None = None,
) -> dict[str, int]:
    """The smallest depths, by channel, that get ``netlist`` past the deadlock of ``snapshot``; empty: none do."""
    model = Model(netlist, data, timing_of=timing_of, engine=engine)
    return clearing_depths(netlist, snapshot, lambda depths: model.run(depths, max_cycles=max_cycles))


def clearing_depths(netlist: Netlist, snapshot: Snapshot, rerun: Rerun) -> dict[str, int]:
    """Depths, by channel, with which ``netlist`` gets past its deadlock; empty if there are none.

    First every channel that is found full gets unlimited depth, until the run ends. Then one channel after the other,
    those on the cycle of waits last, gets its old depth back if the others are enough, and else the smallest
    depth with which the run still ends: none of the depths returned can be lowered alone.
    """
    asked = {each.name: each.depth for each in netlist.channels}
    depths: dict[str, int] = {}
    while True:
        full = [each.name for each in full_channels(netlist, snapshot) if each.name not in depths]
        if not full:
            return {}
        depths.update(dict.fromkeys(full, ENOUGH))
        free = rerun(depths)
        if free.ending.status != Status.DEADLOCK:
            break
        snapshot = free.snapshot()

    def ends(name: str, depth: int) -> bool:
        return rerun({**depths, name: depth}).ending.status != Status.DEADLOCK

    peaks = {each.name: channel.peak for each, channel in zip(netlist.channels, free.fabric.channels, strict=True)}
    for name in reversed(list(depths)):
        if ends(name, asked[name]):
            depths[name] = asked[name]
            continue
        too_small, enough = asked[name], max(peaks[name], asked[name] + 1)
        while not ends(name, enough):
            too_small, enough = enough, 2 * enough
        while enough - too_small > 1:
            middle = (too_small + enough) // 2
            if ends(name, middle):
                enough = middle
            else:
                too_small = middle
        depths[name] = enough
    return {name: depth for name, depth in depths.items() if depth != asked[name]}
