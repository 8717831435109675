"""Runs of a program with other depths of its channels, on all data sets, none of them twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from sim_approx.simulator import Simulator
from step.host.progress import Progress, silent
from step.lowering.netlist import DEEPEST, Netlist
from step.lowering.storage import slot_bits
from step.running.result import RunResult, Status
from step_explore.fifos.alike import alike

Depths = Mapping[str, int]
"""A depth for every channel, by name."""

Cycles = tuple[int, ...]
"""Cycles of the runs on all data sets."""


@dataclass(frozen=True)
class DepthRun:
    """``depths`` of all channels, the ``bits`` that these hold, and the ``cycles`` on each data set, None where a run
    fails.

    Per channel the ``peaks`` of occupancy and the number of ``tokens``, and by the operator where they begin the
    ``rows`` of tiles of dynamic size, are each the most of all runs.
    """

    depths: Depths
    bits: int
    cycles: Cycles | None = ()
    peaks: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)
    tokens: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)
    rows: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)

    def loss(self, fewest: Cycles) -> float:
        """The largest part that a data set takes more than ``fewest`` cycles; infinite where a run fails."""
        if self.cycles is None:
            return float("inf")
        return max((mine - least) / least for mine, least in zip(self.cycles, fewest, strict=True))

    def within(self, fewest: Cycles | None, loss: float = 0.0) -> bool:
        """Whether no run fails, and none loses more than the part ``loss`` of ``fewest``, if there are some."""
        return self.cycles is not None and (fewest is None or self.loss(fewest) <= loss)

    def then(self, result: RunResult) -> DepthRun:
        """The outcome with ``result``, the run on one more data set."""
        cycles = self.cycles if result.status == Status.FINISHED else None
        return replace(
            self,
            cycles=None if cycles is None else (*cycles, result.cycles),
            peaks=_most(self.peaks, {name: each.peak for name, each in result.channels.items()}),
            tokens=_most(self.tokens, {name: each.tokens for name, each in result.channels.items()}),
            rows=_most(self.rows, result.most_rows),
        )


class Runs:
    """Runs of the program of ``netlist``, a simulator per data set.

    ``slot_bits`` is the storage of a slot of each channel, in bits, and ``floor`` has the smallest depths.
    """

    def __init__(
        self, netlist: Netlist, simulators: Sequence[Simulator], threads: int, progress: Progress = silent
    ) -> None:
        self.netlist, self._simulators, self._threads, self._progress = netlist, simulators, threads, progress
        self.slot_bits = {each.name: slot_bits(netlist, each) for each in netlist.channels}
        self.floor = {each.name: netlist.least_depth(each) for each in netlist.channels}
        self.known: dict[tuple[int, ...], DepthRun] = {}
        self._best: tuple[Cycles, int] | None = None

    @property
    def asked(self) -> dict[str, int]:
        """The depths that the program and its fabric ask for."""
        return {each.name: each.depth for each in self.netlist.channels}

    @property
    def ended(self) -> list[DepthRun]:
        """All that are known not to fail."""
        return [each for each in self.known.values() if each.cycles is not None]

    @cached_property
    def groups(self) -> list[list[str]]:
        """The channels in groups of those that are alike, widest slots first: these give most."""
        groups = map(sorted, alike(self.netlist))
        return sorted(groups, key=lambda group: (-self.slot_bits[group[0]], group[0]))

    def bits(self, depths: Depths) -> int:
        """Storage of the channels with ``depths``, in bits."""
        return sum(depth * self.slot_bits[name] for name, depth in depths.items())

    def outcome(self, depths: Depths) -> DepthRun:
        """The outcome of ``depths``."""
        return self.outcomes([depths])[0]

    def outcomes(self, candidates: Sequence[Depths]) -> list[DepthRun]:
        """The outcomes of all ``candidates``, which run at the same time."""
        keys = [tuple(each[name] for name in self.slot_bits) for each in candidates]
        missing = {key: each for key, each in zip(keys, candidates, strict=True) if key not in self.known}
        found = {key: DepthRun(each, self.bits(each)) for key, each in missing.items()}
        for simulator in self._simulators:  # one that fails on a data set runs on none of the others
            left = [key for key in found if key not in self.known]
            runs = simulator.attempts([{"depths": missing[key]} for key in left], threads=self._threads)
            for key, run in zip(left, runs, strict=True):
                found[key] = found[key].then(run.result)
                if found[key].cycles is None or simulator is self._simulators[-1]:
                    self._learn(key, found[key])
        return [self.known[key] for key in keys]

    def _learn(self, key: tuple[int, ...], outcome: DepthRun) -> None:
        """Know ``outcome``, also where what comes behind it is interrupted."""
        self.known[key] = outcome
        text = f"{len(self.known):,} choices of depths have run"
        if outcome.cycles is not None and DEEPEST not in key:
            self._best = min(self._best or (outcome.cycles, outcome.bits), (outcome.cycles, outcome.bits))
        if self._best is not None:
            cycles, bits = self._best
            text += f"; best so far: {', '.join(f'{each:,}' for each in cycles)} cycles with {bits:,} bits"
        self._progress(text)


def _most(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: max(number, one.get(name, 0)) for name, number in other.items()}
