"""The search for depths: what loses no cycle, what does not deadlock, and what lies between."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sim_approx.simulator import Simulator
from step.errors import SimulationError
from step.lowering.netlist import DEEPEST, Channel, Netlist
from step_explore.fifos.runs import Cycles, DepthRun, Depths, Runs
from step_explore.fifos.shrink import LEAST, shrink

LOSSES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Losses of the points between, in parts of the fewest cycles."""

WORTH = 0.01
"""Points between are looked for where there is this part of the storage to save."""

WORTH_ALONE = 1e-4
"""Channels with this part of the storage to give are tried alone; those with less only together with others."""

EQUAL = 1e-4
"""Cycles that differ by no more than this part are as good: else a cycle less, by chance, began a search again."""

MOST_ALONE = 64
"""So many channels are tried alone, those with the most to give."""


class Enough(Exception):
    """All the choices of depths that a search may try have run."""


def search(runs: Runs, room: Depths, begin: Sequence[Depths] = (), choices: int | None = None) -> None:
    """Let ``runs`` know depths that keep the cycles of those asked for, those that lose no cycle, those that only end,
    and some between, each the smallest found.

    All is done after that: what is known when it is interrupted is the best so far. ``room``: depths of which one more
    helps nobody; ``begin``: depths that may be good. Raises `Enough` where more than ``choices`` would run.
    """
    smaller = partial(_smaller, runs, choices)
    _observe(runs, room, begin)
    if (asked := runs.outcome(runs.asked).cycles) is not None:
        smaller(asked, EQUAL, roughly=True)
    while True:
        fewest = fewest_cycles(runs)
        lossless = smaller(fewest, EQUAL)
        if not is_fast(runs, lossless):
            continue
        least = smaller()
        if lossless.bits > (1 + WORTH) * least.bits:
            for loss in LOSSES:
                smaller(fewest, loss, roughly=True)
            smaller()  # from those, too
        if is_fast(runs, lossless):
            return


def fewest_cycles(runs: Runs) -> Cycles:
    """Cycles of all that are known that no others are below on every data set."""
    return min(each.cycles for each in runs.ended if each.cycles is not None)


def is_fast(runs: Runs, outcome: DepthRun) -> bool:
    """Whether nothing that is known is faster than ``outcome``, by more than `EQUAL`."""
    return outcome.within(fewest_cycles(runs), EQUAL)


def smallest(runs: Runs, fewest: Cycles | None = None, loss: float = 0.0) -> DepthRun:
    """The least storage of all that is known within a ``loss``, the fastest of several."""
    there = [each for each in runs.ended if each.within(fewest, loss)]
    return min(there, key=lambda each: (each.bits, each.cycles))


def unbounded(runs: Runs, simulators: Sequence[Simulator]) -> DepthRun:
    """The outcome with channels that are never full; raises what these runs raise: no depths help then."""
    depths = dict.fromkeys(runs.asked, DEEPEST)
    free = runs.outcome(depths)
    if free.cycles is None:
        for each in simulators:
            each.run(depths=depths)
        raise SimulationError("a run failed that did not fail again")
    return free


def _smaller(
    runs: Runs, choices: int | None, fewest: Cycles | None = None, loss: float = 0.0, *, roughly: bool = False
) -> DepthRun:
    """The least storage within a ``loss``: of all that ran, and made smaller until that helps no more.

    ``roughly``: channels that are alike have one limit, and none is tried alone.
    """

    def good(candidates: Sequence[Depths]) -> list[bool]:
        if choices is not None and len(runs.known) + len(candidates) > choices:
            raise Enough
        return [each.within(fewest, loss) for each in runs.outcomes(candidates)]

    while True:
        begin = smallest(runs, fewest, loss)
        alone = () if roughly else _worth_alone(runs, begin)
        found = runs.outcome(shrink(begin.depths, runs.groups, good, alone=alone, floor=runs.floor))
        if smallest(runs, fewest, loss).bits == found.bits:
            return found


def _worth_alone(runs: Runs, begin: DepthRun) -> list[str]:
    """The channels with the most to give."""
    gives = {name: (depth - LEAST) * runs.slot_bits[name] for name, depth in begin.depths.items()}
    worth = [name for name, bits in gives.items() if bits > WORTH_ALONE * begin.bits]
    return sorted(worth, key=lambda name: -gives[name])[:MOST_ALONE]


def _observe(runs: Runs, room: Depths, begin: Sequence[Depths]) -> None:
    """Run what may be fast: depths that runs without bounds took, as registers or as block RAM, and those asked for.

    A channel that has its words in block RAM shows a token a cycle later, so the deepest are not the fastest.
    """
    free = runs.outcome(dict.fromkeys(runs.asked, DEEPEST))
    observed = _peaks(free)
    shallow = {each.name: _shallow(runs.netlist, each) for each in runs.netlist.channels}
    deep = {name: max(depth, shallow[name] + 1) for name, depth in observed.items()}
    capped = {name: min(depth, room[name]) for name, depth in shallow.items()}
    again = runs.outcomes([*begin, observed, deep, capped, runs.asked])[len(begin)]
    if again.cycles is not None:
        runs.outcome(_peaks(again))


def _peaks(outcome: DepthRun) -> dict[str, int]:
    """Depths for the occupancy that was seen: one more, as a slot that is freed is claimed a cycle later."""
    return {name: max(LEAST, peak + 1) for name, peak in outcome.peaks.items()}


def _shallow(netlist: Netlist, channel: Channel) -> int:
    """The largest depth of ``channel`` that needs no block RAM."""
    return max(LEAST, netlist.fabric.block_ram_words // netlist.places(channel) - netlist.spare(channel))
