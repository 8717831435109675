"""Depths that lose no cycle, those that do not deadlock, and what lies between."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from sim_approx.simulator import Simulator
from step.errors import InputError
from step.host.progress import Progress, silent
from step.language.parameters import Within, settled
from step.lowering.fabric import FabricConfig
from step.lowering.feasible import check_feasible
from step.lowering.netlist import lower
from step.programs.data.inputs import bind_inputs
from step.programs.files.depths import DataSet, DepthBinding
from step.programs.files.digest import data_digest
from step.programs.prepare import Openable, open_program
from step.programs.program import Program
from step.running.backend import checked_options
from step_explore.fifos.bound import Bound, storage_bound
from step_explore.fifos.runs import Cycles, Depths, Runs
from step_explore.fifos.search import EQUAL, Enough, ends, fewest_cycles, search, smallest, unbounded, within
from step_explore.sweeps.front import undominated
from step_explore.sweeps.processes import cores


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

    ``asked`` are the depths that program and fabric have. ``kept`` have the least storage that was found to take no
    more cycles than these on any data; where these deadlock, they are ``lossless``. ``lossless`` have the fewest cycles
    of all that ran, with the least storage that was found. Both are so to a ten thousandth (`search.EQUAL`).
    ``least`` only do not deadlock; ``front`` has these and those between that no other beats in bits and cycles, the
    fastest first. Of ``lossless`` and ``least`` no single depth above 2 can be lowered by one, where that is worth a
    run (`step_explore.fifos.search.WORTH_ALONE`, ``MOST_ALONE``).
    ``bound``: the storage below which the program deadlocks, if it was asked for; ``floor``: that of the smallest depth
    in all channels. ``interrupted``: Ctrl-C came, and these are the best so far.

    ``most_rows``: of the tiles of dynamic size that begin at an operator, by its name, where that is less than the
    fabric has room for; all but ``asked`` have room for so many.
    """

    program: Program
    data: tuple[str | None, ...]
    digests: tuple[str, ...]
    asked: Sized
    kept: Sized
    lossless: Sized
    least: Sized
    front: tuple[Sized, ...]
    runs: int
    floor: int
    bound: Bound | None = None
    most_rows: Mapping[str, int] = field(default_factory=dict)
    interrupted: bool = False

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
        sets = tuple(map(DataSet, self.data, self.digests, chosen.cycles))
        return DepthBinding.of(self.program, sets, chosen.depths, {} if chosen is self.asked else self.most_rows)

    @cached_property
    def holds(self) -> str:
        """For which data it holds, as a sentence."""
        if lower(self.program.graph, self.program.fabric).is_fixed:
            return "this holds for all data: all sizes are static, and no value decides what a unit does"
        return f"this holds for {', '.join(name or 'the data of the program' for name in self.data)}"

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
    begin: DepthBinding | Path | str | None = None,
    bound: bool = False,
    choices: int | None = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> Sizing:
    """Find depths for the channels of ``program`` by running it on the fast model.

    ``inputs``: .npz files that take the place of the program's own data; the choices hold for all of them.
    ``fabric`` replaces that of the program. ``begin``: depths of an earlier search, or their file, to go on from.
    ``bound`` looks for the storage below which the program deadlocks, whatever the depths, which needs SciPy.
    ``choices``: after so many choices of depths have run, the best so far is the result.
    ``threads`` run at a time, by default one per core.

    Slots for tiles of dynamic size have room for the most rows that one had where it begins. Ctrl-C ends the search,
    and the best so far is the result. Raises what a run with unbounded channels raises: no depths help then.

    >>> found = step.size_fifos(program)
    >>> found
    <FIFOs of sums: 144 bits lose no cycle, 144 do not deadlock, 144 asked for>
    """
    given = checked_options({"bound": bound, "choices": choices, "threads": threads, "progress": progress})
    inputs = settled(inputs, Iterable[Any], "inputs", InputError)
    opened = open_program(program, fabric=fabric)
    programs = [open_program(opened, inputs=each) for each in inputs] or [opened]
    earlier = [] if begin is None else [_read(begin).applied(opened).graph.depths]
    threads = given.get("threads", cores())
    progress("channels that are never full")
    runs = first = _runs(opened, programs, threads, progress)
    free = unbounded(first, _simulators(programs))
    asked = Sized(first.asked, first.bits(first.asked), first.outcome(first.asked).cycles)
    most_rows = {
        name: max(1, rows)
        for name, rows in free.rows.items()
        if rows < first.netlist.rows_from(first.netlist.graph.nodes[name])
    }
    if most_rows:
        all_rows = {**opened.graph.most_rows, **most_rows}
        roomy = [replace(each, graph=replace(each.graph, most_rows=all_rows)) for each in (opened, *programs)]
        runs = _runs(roomy[0], roomy[1:], threads, progress)
    room = {name: max(2, tokens + 1) for name, tokens in free.tokens.items()}
    least_bits, interrupted = None, False
    try:
        search(runs, room, earlier, choices)
        least_bits = storage_bound(runs, room) if bound else None
        search(runs, room, choices=choices)  # what the bound found may be smaller
    except KeyboardInterrupt:
        interrupted = True
        if not any(runs.ended()):
            raise
    except Enough:
        pass  # what is known is the answer
    lossless = _sized(runs, smallest(runs, within(fewest_cycles(runs), EQUAL)))
    return Sizing(
        opened,
        tuple(str(each) for each in inputs) or (None,),
        tuple(data_digest(each.graph, bind_inputs(each.graph, each.inputs)) for each in programs),
        asked,
        _kept(runs, asked),
        lossless,
        _sized(runs, smallest(runs, ends)),
        tuple(each for each in _front(runs) if each.loss(lossless.cycles or ()) >= 0),
        len(runs.known) + (0 if runs is first else len(first.known)),
        runs.bits(runs.floor),
        least_bits,
        most_rows,
        interrupted,
    )


def _runs(program: Program, programs: Sequence[Program], threads: int, progress: Progress) -> Runs:
    netlist = lower(program.graph, program.fabric)
    check_feasible(netlist)  # a slot has a size
    return Runs(netlist, _simulators(programs), threads, progress)


def _simulators(programs: Sequence[Program]) -> list[Simulator]:
    return [Simulator(each) for each in programs]


def _read(begin: DepthBinding | Path | str) -> DepthBinding:
    return begin if isinstance(begin, DepthBinding) else DepthBinding.load(begin)


def _sized(runs: Runs, depths: Depths) -> Sized:
    return Sized(depths, runs.bits(depths), runs.outcome(depths).cycles)


def _kept(runs: Runs, asked: Sized) -> Sized:
    goal = within(fewest_cycles(runs) if asked.cycles is None else asked.cycles, EQUAL)
    return _sized(runs, smallest(runs, goal))


def _front(runs: Runs) -> tuple[Sized, ...]:
    """Of all that ran, what nothing else beats."""
    best: dict[tuple[int, ...], Sized] = {}
    for depths, cycles in runs.ended():
        each = Sized(depths, runs.bits(depths), cycles)
        best.setdefault((*cycles, each.bits), each)
    return tuple(best[cost] for cost in undominated(list(best)))
