"""The depths that lose no cycle, those that do not deadlock, and what lies between."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from step.errors import InputError, SimulationError
from step.fifos.bound import Bound, storage_bound
from step.fifos.runs import Cycles, Depths, Outcome, Runs
from step.fifos.shrink import LEAST, shrink
from step.host.progress import Progress, silent
from step.language.parameters import Within, settled
from step.lowering.fabric import FabricConfig
from step.lowering.feasible import check_feasible
from step.lowering.netlist import DEEPEST, Channel, Netlist, lower
from step.programs.data.inputs import bind_inputs
from step.programs.files.depths import DataSet, DepthBinding
from step.programs.files.digest import data_digest
from step.programs.prepare import Openable, open_program
from step.programs.program import Program
from step.running.backend import checked_options
from step.running.simulator import Simulator
from step.sweeps.front import undominated
from step.sweeps.processes import cores

Goal = Callable[[Cycles | None], bool]
"""Whether depths do what they should, by the cycles that they take."""

LOSSES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Losses of the points between, in parts of the fewest cycles."""


@dataclass(frozen=True)
class Sized:
    """``depths`` of all channels, the ``bits`` that these hold, and the ``cycles`` on each data set.

    ``cycles`` is None for depths with which a run fails.
    """

    depths: Mapping[str, int]
    bits: int
    cycles: Cycles | None

    def loss(self, fewest: Cycles) -> float:
        """The largest part that a data set takes more than ``fewest`` cycles; infinite where a run fails."""
        if self.cycles is None:
            return float("inf")
        return max(mine / least - 1 for mine, least in zip(self.cycles, fewest, strict=True))


@dataclass(frozen=True, repr=False)
class Sizing:
    """Choices of depths for ``program`` on the data called ``data`` (None: its own), from so many ``runs``.

    ``asked`` are the depths that program and fabric have. ``lossless`` have the fewest cycles of all that ran, with the
    least storage that was found; ``least`` only do not deadlock; ``front`` has both and those between that no other
    beats in bits and cycles, the fastest first. Of ``lossless`` and ``least`` no single depth can be lowered by one.
    ``bound``: the storage below which the program deadlocks, if it was asked for.
    """

    program: Program
    data: tuple[str | None, ...]
    digests: tuple[str, ...]
    asked: Sized
    lossless: Sized
    least: Sized
    front: tuple[Sized, ...]
    runs: int
    bound: Bound | None = None

    @cached_property
    def fewest(self) -> Cycles:
        """The cycles of ``lossless``."""
        assert self.lossless.cycles is not None
        return self.lossless.cycles

    def within(self, loss: float) -> Sized:
        """The least storage that was found to take at most the part ``loss`` more cycles on all data.

        Raises `InputError` for a ``loss`` that is no number >= 0.
        """
        settled(loss, Annotated[float, Within(0, math.inf)], "loss", InputError)
        return min((each for each in self.front if each.loss(self.fewest) <= loss), key=lambda each: each.bits)

    def binding(self, chosen: Sized) -> DepthBinding:
        """The depths ``chosen`` as a file takes them; raises `InputError` for depths that deadlock."""
        if not isinstance(chosen, Sized) or chosen.cycles is None:
            raise InputError(f"a binding must be of depths with which the program ends, not {chosen!r}")
        sets = map(DataSet, self.data, self.digests, chosen.cycles)
        return DepthBinding.of(self.program, tuple(sets), chosen.depths)

    def __repr__(self) -> str:
        return (
            f"<FIFOs of {self.program.name}: {self.lossless.bits:,} bits lose no cycle, {self.least.bits:,} do not "
            f"deadlock, {self.asked.bits:,} asked for>"
        )


def size_fifos(
    program: Openable,
    *,
    inputs: Sequence[Path | str] = (),
    fabric: FabricConfig | None = None,
    bound: bool = False,
    threads: int | None = None,
    progress: Progress = silent,
) -> Sizing:
    """Find depths for the channels of ``program`` by running it on the fast model.

    ``inputs``: .npz files that take the place of the program's own data; the choices hold for all of them.
    ``fabric`` replaces that of the program. ``bound`` looks for the storage below which it deadlocks, whatever the
    depths, which needs SciPy. ``threads`` run at a time, by default one per core.

    Slots for tiles of dynamic size have room for the most rows. Raises what a run with unbounded channels raises: no
    depths help then.

    >>> found = step.size_fifos(program)
    >>> found
    <FIFOs of sums: 144 bits lose no cycle, 144 do not deadlock, 144 asked for>
    """
    given = checked_options({"bound": bound, "threads": threads, "progress": progress})
    inputs = settled(inputs, Iterable[Any], "inputs", InputError)
    opened = open_program(program, fabric=fabric)
    programs = [open_program(opened, inputs=each) for each in inputs] or [opened]
    netlist = lower(opened.graph, opened.fabric)
    check_feasible(netlist)  # a slot has a size
    simulators = [Simulator(each) for each in programs]
    runs = Runs(netlist, simulators, given.get("threads", cores()), progress)
    room = _observe(runs, simulators)
    fewest = min(each.cycles for each in runs.known.values() if each.cycles is not None)
    while True:
        lossless = _smallest(runs, _within(fewest, 0))
        for loss in LOSSES:
            _smallest(runs, _within(fewest, loss))
        _smallest(runs, _ends)
        faster = [
            each.cycles for each in runs.known.values() if each.cycles != fewest and _within(fewest, 0)(each.cycles)
        ]
        if not faster:
            break
        fewest = min(each for each in faster if each is not None)
    least_bits = storage_bound(runs, room) if bound else None
    least = _smallest(runs, _ends)
    return Sizing(
        opened,
        tuple(str(each) for each in inputs) or (None,),
        tuple(data_digest(each.graph, bind_inputs(each.graph, each.inputs)) for each in programs),
        _sized(runs, runs.asked),
        _sized(runs, lossless),
        _sized(runs, least),
        _front(runs),
        len(runs.known),
        least_bits,
    )


def _smallest(runs: Runs, goal: Goal) -> Depths:
    """The least storage that reaches ``goal``: of all that ran, and made smaller until that helps no more.

    Of several channels those give most that have the widest slots.
    """

    def good(candidates: Sequence[Depths]) -> list[bool]:
        return [goal(each.cycles) for each in runs.outcomes(candidates)]

    order = sorted(runs.asked, key=lambda name: (-runs.slot_bits(name), name))
    while True:
        reached = [runs.depths(key) for key, outcome in runs.known.items() if goal(outcome.cycles)]
        found = shrink(min(reached, key=runs.bits), order, good)
        if not any(
            goal(each.cycles) and runs.bits(runs.depths(key)) < runs.bits(found) for key, each in runs.known.items()
        ):
            return found


def _observe(runs: Runs, simulators: Sequence[Simulator]) -> Depths:
    """Run what may be fast: depths that runs without bounds took, as registers or as block RAM, and those asked for.

    A channel that has its words in block RAM shows a token a cycle later, so the deepest are not the fastest. Returns
    depths that no run fills.
    """
    unbounded = dict.fromkeys(runs.asked, DEEPEST)
    free = runs.outcome(unbounded)
    if free.cycles is None:
        for each in simulators:
            each.run(depths=unbounded)
        raise SimulationError("a run failed that did not fail again")
    observed = _peaks(free)
    shallow = {each.name: _shallow(runs.netlist, each) for each in runs.netlist.channels}
    deep = {name: max(depth, shallow[name] + 1) for name, depth in observed.items()}
    again = runs.outcomes([observed, deep, shallow, runs.asked])[0]
    if again.cycles is not None:
        runs.outcome(_peaks(again))
    return {name: max(LEAST, tokens + 1) for name, tokens in free.tokens.items()}


def _peaks(outcome: Outcome) -> dict[str, int]:
    """Depths for the occupancy that was seen: one more, as a slot that is freed is claimed a cycle later."""
    return {name: max(LEAST, peak + 1) for name, peak in outcome.peaks.items()}


def _shallow(netlist: Netlist, channel: Channel) -> int:
    """The largest depth of ``channel`` that needs no block RAM."""
    return max(LEAST, netlist.fabric.block_ram_words // netlist.places(channel) - netlist.spare(channel))


def _within(fewest: Cycles, loss: float) -> Goal:
    """Whether no data set takes more than the part ``loss`` longer than ``fewest``."""

    def reached(cycles: Cycles | None) -> bool:
        return cycles is not None and all(
            mine <= least * (1 + loss) for mine, least in zip(cycles, fewest, strict=True)
        )

    return reached


def _ends(cycles: Cycles | None) -> bool:
    """Whether no run fails."""
    return cycles is not None


def _sized(runs: Runs, depths: Depths) -> Sized:
    return Sized(depths, runs.bits(depths), runs.outcome(depths).cycles)


def _front(runs: Runs) -> tuple[Sized, ...]:
    """Of all that ran, what nothing else beats."""
    found = [(outcome.cycles, key) for key, outcome in runs.known.items() if outcome.cycles is not None]
    sized = [Sized(runs.depths(key), runs.bits(runs.depths(key)), cycles) for cycles, key in found]
    best: dict[tuple[int, ...], Sized] = {}
    for each in sized:
        assert each.cycles is not None
        best.setdefault((*each.cycles, each.bits), each)
    return tuple(best[cost] for cost in undominated(list(best)))
