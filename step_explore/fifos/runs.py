"""Runs of a program with other depths of its channels, on all data sets, none of them twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sim_approx.simulator import Simulator
from step.host.progress import Progress, silent
from step.lowering.netlist import DEEPEST, Netlist
from step.lowering.storage import slot_bits
from step.running.result import Status

Depths = Mapping[str, int]
"""A depth for every channel, by name."""

Cycles = tuple[int, ...]
"""Of the runs on all data sets."""


@dataclass(frozen=True)
class Outcome:
    """``cycles`` per data set, None where a run fails; per channel the ``peaks`` of occupancy and the number of
    ``tokens``, and the ``rows`` of tiles of dynamic size by the operator where they begin, each the most of all runs.
    """

    cycles: Cycles | None
    peaks: Mapping[str, int] = field(default_factory=dict)
    tokens: Mapping[str, int] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)


class Runs:
    """Runs of the program of ``netlist``, a simulator per data set; ``floor`` has the smallest depths."""

    def __init__(
        self, netlist: Netlist, simulators: Sequence[Simulator], threads: int, progress: Progress = silent
    ) -> None:
        self.netlist, self._simulators, self._threads, self._progress = netlist, simulators, threads, progress
        self._names = [each.name for each in netlist.channels]
        self._bits = {each.name: slot_bits(netlist, each) for each in netlist.channels}
        self.floor = {each.name: netlist.least_depth(each) for each in netlist.channels}
        self.known: dict[tuple[int, ...], Outcome] = {}
        self._best: tuple[Cycles, int] | None = None

    @property
    def asked(self) -> dict[str, int]:
        """The depths that the program and its fabric ask for."""
        return {each.name: each.depth for each in self.netlist.channels}

    def bits(self, depths: Depths) -> int:
        """Storage of the channels with ``depths``, in bits."""
        return sum(depth * self._bits[name] for name, depth in depths.items())

    def slot_bits(self, name: str) -> int:
        """Storage of a slot of the channel, in bits."""
        return self._bits[name]

    def outcome(self, depths: Depths) -> Outcome:
        """That of ``depths``."""
        return self.outcomes([depths])[0]

    def outcomes(self, candidates: Sequence[Depths]) -> list[Outcome]:
        """Those of all ``candidates``, which run at the same time."""
        keys = [self._key(each) for each in candidates]
        missing = {key: each for key, each in zip(keys, candidates, strict=True) if key not in self.known}
        self._run(missing)
        return [self.known[key] for key in keys]

    def ended(self) -> Iterator[tuple[dict[str, int], Cycles]]:
        """The depths that are known not to fail, and their cycles."""
        for key, outcome in self.known.items():
            if outcome.cycles is not None:
                yield dict(zip(self._names, key, strict=True)), outcome.cycles

    def _key(self, depths: Depths) -> tuple[int, ...]:
        return tuple(depths[name] for name in self._names)

    def _run(self, missing: Mapping[tuple[int, ...], Depths]) -> None:
        """A data set on which one fails ends it: it runs on none of the others.

        Those that have run on all data are known, also where what comes behind them is interrupted.
        """
        found = dict.fromkeys(missing, Outcome(()))
        last = len(self._simulators) - 1
        for number, simulator in enumerate(self._simulators):
            keys = [key for key, each in found.items() if each.cycles is not None]
            changes = [{"depths": missing[key]} for key in keys]
            for key, run in zip(keys, simulator.attempts(changes, threads=self._threads), strict=True):
                before, result = found[key], run.result
                ends = result.status == Status.FINISHED
                found[key] = Outcome(
                    (*(before.cycles or ()), result.cycles) if ends else None,
                    _most(before.peaks, {name: each.peak for name, each in result.channels.items()}),
                    _most(before.tokens, {name: each.tokens for name, each in result.channels.items()}),
                    _most(before.rows, result.most_rows),
                )
                if not ends or number == last:
                    self._learn(key, found[key])

    def _learn(self, key: tuple[int, ...], outcome: Outcome) -> None:
        self.known[key] = outcome
        text = f"{len(self.known):,} choices of depths have run"
        if outcome.cycles is not None and DEEPEST not in key:
            bits = sum(depth * self._bits[name] for name, depth in zip(self._names, key, strict=True))
            self._best = min(self._best or (outcome.cycles, bits), (outcome.cycles, bits))
        if self._best is not None:
            cycles, bits = self._best
            text += f"; best so far: {', '.join(f'{each:,}' for each in cycles)} cycles with {bits:,} bits"
        self._progress(text)


def _most(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: max(number, one.get(name, 0)) for name, number in other.items()}
