"""The search for depths: what loses no cycle, what does not deadlock, and what lies between."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sim_approx.simulator import Simulator
from step.errors import SimulationError
from step.lowering.netlist import DEEPEST, Channel, Netlist
from step_explore.fifos.alike import alike
from step_explore.fifos.runs import Cycles, Depths, Outcome, Runs
from step_explore.fifos.shrink import LEAST, shrink

Goal = Callable[[Cycles | None], bool]
"""Whether depths do what they should, by the cycles that they take."""

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
    found = _Search(runs, choices)
    _observe(runs, room, begin)
    if (asked := runs.outcome(runs.asked).cycles) is not None:
        found.smaller(within(asked, EQUAL), roughly=True)
    while True:
        fewest = fewest_cycles(runs)
        lossless = found.smaller(within(fewest, EQUAL))
        if not is_fast(runs, lossless):
            continue
        least = found.smaller(ends)
        if runs.bits(lossless) > (1 + WORTH) * runs.bits(least):
            for loss in LOSSES:
                found.smaller(within(fewest, loss), roughly=True)
            found.smaller(ends)  # from those, too
        if is_fast(runs, lossless):
            return


def fewest_cycles(runs: Runs) -> Cycles:
    """Of all that are known, cycles that no others are below on every data set."""
    known = {cycles for _, cycles in runs.ended()}
    fewest = min(known)
    while faster := [each for each in known if each != fewest and within(fewest, 0)(each)]:
        fewest = min(faster)
    return fewest


def is_fast(runs: Runs, depths: Depths) -> bool:
    """Whether nothing that is known is faster than ``depths``, by more than `EQUAL`."""
    return within(fewest_cycles(runs), EQUAL)(runs.outcome(depths).cycles)


def within(fewest: Cycles, loss: float) -> Goal:
    """Whether no data set takes more than the part ``loss`` longer than ``fewest``."""

    def reached(cycles: Cycles | None) -> bool:
        return cycles is not None and all(
            mine <= least * (1 + loss) for mine, least in zip(cycles, fewest, strict=True)
        )

    return reached


def ends(cycles: Cycles | None) -> bool:
    """Whether no run fails."""
    return cycles is not None


def smallest(runs: Runs, goal: Goal) -> Depths:
    """The least storage of all that is known to reach ``goal``, the fastest of several."""
    reach = [(runs.bits(depths), cycles, depths) for depths, cycles in runs.ended() if goal(cycles)]
    return min(reach, key=lambda each: each[:2])[2]


def unbounded(runs: Runs, simulators: Sequence[Simulator]) -> Outcome:
    """What runs do with channels that are never full; raises what these raise: no depths help then."""
    depths = dict.fromkeys(runs.asked, DEEPEST)
    free = runs.outcome(depths)
    if free.cycles is None:
        for each in simulators:
            each.run(depths=depths)
        raise SimulationError("a run failed that did not fail again")
    return free


class _Search:
    def __init__(self, runs: Runs, choices: int | None) -> None:
        self._runs, self._choices, self._order = runs, choices, _order(runs)

    def smaller(self, goal: Goal, *, roughly: bool = False) -> Depths:
        """The least storage that reaches ``goal``: of all that ran, and made smaller until that helps no more.

        ``roughly``: channels that are alike have one limit, and none is tried alone.
        """
        runs = self._runs

        def good(candidates: Sequence[Depths]) -> list[bool]:
            if self._choices is not None and len(runs.known) + len(candidates) > self._choices:
                raise Enough
            return [goal(each.cycles) for each in runs.outcomes(candidates)]

        while True:
            begin = smallest(runs, goal)
            alone = () if roughly else _worth_alone(runs, begin)
            found = shrink(begin, self._order, good, alone=alone, floor=runs.floor)
            if runs.bits(smallest(runs, goal)) == runs.bits(found):
                return found


def _worth_alone(runs: Runs, depths: Depths) -> list[str]:
    """The channels of ``depths`` with the most to give."""
    gives = {name: (depth - LEAST) * runs.slot_bits(name) for name, depth in depths.items()}
    worth = [name for name, bits in gives.items() if bits > WORTH_ALONE * runs.bits(depths)]
    return sorted(worth, key=lambda name: -gives[name])[:MOST_ALONE]


def _order(runs: Runs) -> list[list[str]]:
    """The channels in groups of those that are alike, widest slots first: these give most."""
    groups = [sorted(group) for group in alike(runs.netlist)]
    return sorted(groups, key=lambda group: (-runs.slot_bits(group[0]), group[0]))


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


def _peaks(outcome: Outcome) -> dict[str, int]:
    """Depths for the occupancy that was seen: one more, as a slot that is freed is claimed a cycle later."""
    return {name: max(LEAST, peak + 1) for name, peak in outcome.peaks.items()}


def _shallow(netlist: Netlist, channel: Channel) -> int:
    """The largest depth of ``channel`` that needs no block RAM."""
    return max(LEAST, netlist.fabric.block_ram_words // netlist.places(channel) - netlist.spare(channel))
