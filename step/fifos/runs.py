"""Runs of a program with other depths of its channels, on all data sets, none of them twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from step.host.progress import Progress, silent
from step.lowering.links import slot_bits
from step.lowering.netlist import Netlist
from step.running.result import Status
from step.running.simulator import Simulator

Depths = Mapping[str, int]
"""A depth for every channel, by name."""

Cycles = tuple[int, ...]
"""Of the runs on all data sets."""


@dataclass(frozen=True)
class Outcome:
    """``cycles`` per data set, None where a run fails; per channel the ``peaks`` of occupancy and the number of
    ``tokens``, each the most of all runs."""

    cycles: Cycles | None
    peaks: Mapping[str, int]
    tokens: Mapping[str, int]


class Runs:
    """Runs of the program of ``netlist``, a simulator per data set."""

    def __init__(
        self, netlist: Netlist, simulators: Sequence[Simulator], threads: int, progress: Progress = silent
    ) -> None:
        self.netlist, self._simulators, self._threads, self._progress = netlist, simulators, threads, progress
        self._names = [each.name for each in netlist.channels]
        most = netlist.fabric.dynamic_rows
        self._bits = {each.name: slot_bits(each.type.rank, each.element, most) for each in netlist.channels}
        self.known: dict[tuple[int, ...], Outcome] = {}

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
        self.known.update(zip(missing, self._run(list(missing.values())), strict=True))
        return [self.known[key] for key in keys]

    def depths(self, key: tuple[int, ...]) -> dict[str, int]:
        """The depths that are ``known`` by ``key``."""
        return dict(zip(self._names, key, strict=True))

    def _key(self, depths: Depths) -> tuple[int, ...]:
        return tuple(depths[name] for name in self._names)

    def _run(self, candidates: list[Depths]) -> list[Outcome]:
        """A data set on which one fails ends it: it runs on none of the others."""
        found: list[Outcome] = [Outcome((), {}, {})] * len(candidates)
        for simulator in self._simulators:
            places = [place for place, each in enumerate(found) if each.cycles is not None]
            changes = [{"depths": candidates[place]} for place in places]
            for place, run in zip(places, simulator.attempts(changes, threads=self._threads), strict=True):
                before, result = found[place], run.result
                peaks = {name: max(each.peak, before.peaks.get(name, 0)) for name, each in result.channels.items()}
                tokens = {name: max(each.tokens, before.tokens.get(name, 0)) for name, each in result.channels.items()}
                cycles = None if result.status != Status.FINISHED else (*(before.cycles or ()), result.cycles)
                found[place] = Outcome(cycles, peaks, tokens)
        if candidates:
            self._progress(f"{len(self.known) + len(candidates):,} choices of depths have run")
        return found
