"""The storage below which a program deadlocks, whatever the depths: by a linear program over depths that did.

More room never makes a Kahn network deadlock (Parks, Bounded Scheduling of Process Networks, 1995). So where depths
deadlock, any that do not are larger in one channel at least. Each such run is made as strong as it can be, with all
the room that still deadlocks, and is a constraint of a covering problem in integers; its cheapest solution is the next
to run. If that does not deadlock it is the smallest of all, else it is the next constraint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from step.errors import needing
from step.language.tiling import accesses
from step.lowering.arrival import arrival
from step.lowering.memory import scratchpads
from step.lowering.netlist import Netlist
from step_explore.fifos.runs import Depths, Runs
from step_explore.fifos.shrink import LEAST, shrink
from step_explore.integer_program import Constraint, Sum, least

MOST_CUTS = 60
"""Runs that deadlock, after which the search for the smallest gives up with the bound that it has."""

SECONDS = 10.0
"""For one solution of the covering problem; after them its own lower bound counts."""

Cut = Mapping[str, int]
"""Depths that deadlock, however deep the other channels are: one of these has to be deeper."""


@dataclass(frozen=True)
class StorageBound:
    """No depths of less than ``bits`` run to the end; ``weak`` says why it is no better; None: some have these."""

    bits: int
    weak: str | None


def obstacle(netlist: Netlist) -> str | None:
    """Why more room may make the program deadlock, or None: where an order depends on time it is no Kahn network."""
    if (why := arrival(netlist)) is not None:
        return why
    stored = {access.tensor for _, access in accesses(netlist.units, writes=True)}
    for node, access in accesses(netlist.units, writes=False):
        if access.tensor in stored:
            return f"{node.describe()} reads a tensor that is written"
    for pad in scratchpads(netlist):
        if len(pad.shares) > 1:
            names = " and ".join(share.filler.name for share in pad.shares)
            return f"{names} share on-chip memory"
    return None


def storage_bound(runs: Runs, room: Depths) -> StorageBound:
    """The bound for the program of ``runs``; where it has an `obstacle`, that of the smallest depth in all channels.

    ``room``: depths that no run fills, by channel. Raises `EnvironmentProblem` where SciPy is not installed.
    """
    with needing("a bound", "fifos"):
        import scipy.optimize  # noqa: F401
    cuts: list[Cut] = []
    floor = runs.floor
    if runs.outcome(floor).cycles is None and (why := obstacle(runs.netlist)) is not None:
        return StorageBound(runs.bits(floor), f"{why}, so more room may make the program deadlock")
    while True:
        depths, bits = _cheapest(runs, cuts, room)
        if depths is not None and runs.outcome({**floor, **depths}).cycles is not None:
            return StorageBound(bits, None)
        if depths is None or len(cuts) == MOST_CUTS:
            return StorageBound(bits, f"{len(cuts)} ways to deadlock were looked at, and there are more")
        cuts.append(_strongest(runs, {**floor, **depths}, room))


def _strongest(runs: Runs, depths: Depths, room: Depths) -> Cut:
    """Depths no less than ``depths`` that deadlock too and that can not be larger, without the channels that have all
    the ``room``."""

    def deepened(missing: Depths) -> dict[str, int]:
        return {name: room[name] + LEAST - less for name, less in missing.items()}

    def deadlock(candidates: Sequence[Depths]) -> list[bool]:
        return [each.cycles is None for each in runs.outcomes([deepened(each) for each in candidates])]

    missing = {name: room[name] + LEAST - depth for name, depth in depths.items()}
    order = sorted(room, key=lambda name: (depths[name] == LEAST, name))
    found = deepened(shrink(missing, order, deadlock))
    return {name: depth for name, depth in found.items() if depth < room[name]}


def _cheapest(runs: Runs, cuts: Sequence[Cut], room: Depths) -> tuple[dict[str, int] | None, int]:
    """The depths with the least storage that are no cut, those of channels in no cut left out; None where they are not
    found in time. And what no others are below, with all channels."""
    base, floor = runs.bits(runs.floor), runs.floor
    names = sorted({name for cut in cuts for name in cut})
    if not names:
        return {}, base
    constraints = list[Constraint]()
    for number, cut in enumerate(cuts):  # a depth each, and of every cut which of its channels is deeper
        constraints.append(({(number, name): 1 for name in cut}, 1, np.inf))  # one of them at least
        for name, depth in cut.items():  # depth - floor >= that if it is chosen
            constraints.append(({name: 1, (number, name): floor[name] - depth - 1}, 0, np.inf))
    deeper = [(number, name) for number, cut in enumerate(cuts) for name in cut]
    cost = {name: runs.slot_bits[name] for name in names}
    most: Sum = {**{name: room[name] - floor[name] for name in names}, **dict.fromkeys(deeper, 1)}
    result, found = least(cost, [*names, *deeper], most, most, constraints, time_limit=SECONDS)
    bits = base + int(np.ceil(result.mip_dual_bound - 1e-6))
    if found is None or result.status != 0:
        return None, bits
    return {name: floor[name] + round(found[name]) for name in names}, bits
