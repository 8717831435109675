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
from step.programs.files.digest import data_digest, graph_digest
from step.programs.prepare import Openable, open_program
from step.programs.program import Program
from step.running.options import checked_options
from step_explore.fifos.bound import StorageBound, storage_bound
from step_explore.fifos.runs import Cycles, DepthRun, Runs
from step_explore.fifos.search import EQUAL, Enough, fewest_cycles, search, smallest, unbounded
from step_explore.sweeps.front import undominated
from step_explore.sweeps.processes import cores


@dataclass(frozen=True, repr=False)
class Sizing:
    """Depths of channels that `step.size_fifos` found for a program; each choice has ``depths`` by channel, ``bits``
    and ``cycles``.

    ``program``: the program.
    ``data``: names of the data that it ran on; None: its own.
    ``digests``: digests of that data.
    ``asked``: the depths that program and fabric have.
    ``kept``: the least storage that was found to take no more cycles than these on any data; where these deadlock,
    ``lossless``.
    ``lossless``: the fewest cycles of all that ran, with the least storage that was found. Both are so to a ten
    thousandth (`search.EQUAL`).
    ``least``: the least storage that does not deadlock. Of these and ``lossless`` no single depth above 2 can be
    lowered by one, where that is worth a run (`step_explore.fifos.search.WORTH_ALONE`, ``MOST_ALONE``).
    ``front``: these and those between that no other beats in bits and cycles, the fastest first.
    ``runs``: runs of the fast model that it took.
    ``floor``: bits of the smallest depth in all channels.
    ``bound``: bits of storage below which the program deadlocks, if it was asked for.
    ``most_rows``: rows of the tiles of dynamic size that begin at an operator, by its name, where that is less than the
    fabric has room for; all but ``asked`` have room for so many.
    ``interrupted``: Ctrl-C came, and these are the best so far.

    >>> sizing = step.size_fifos(program)
    >>> sizing.kept.depths, sizing.kept.bits
    ({'x': 2, 'accum_0': 2}, 144)
    """

    program: Program
    data: tuple[str | None, ...]
    digests: tuple[str, ...]
    asked: DepthRun
    kept: DepthRun
    lossless: DepthRun
    least: DepthRun
    front: tuple[DepthRun, ...]
    runs: int
    floor: int
    bound: StorageBound | None = None
    most_rows: Mapping[str, int] = field(default_factory=dict)
    interrupted: bool = False

    @cached_property
    def fewest(self) -> Cycles:
        """The cycles of ``lossless``."""
        assert self.lossless.cycles is not None
        return self.lossless.cycles

    def within(self, loss: float) -> DepthRun:
        """The least storage that was found to take at most the part ``loss`` more cycles on all data.

        Raises `InputError` for a ``loss`` that is no number >= 0.
        """
        settled(loss, Annotated[float, Within(0, math.inf)], "loss", InputError)
        return min((each for each in self.front if each.within(self.fewest, loss)), key=lambda each: each.bits)

    def binding(self, chosen: DepthRun) -> DepthBinding:
        """The depths ``chosen`` as a file takes them; raises `InputError` for depths that deadlock."""
        if not isinstance(chosen, DepthRun) or chosen.cycles is None:
            raise InputError(f"a binding must be of depths with which the program ends, not {chosen!r}")
        sets = tuple(map(DataSet, self.data, self.digests, chosen.cycles))
        name, graph, fabric = self.program.name, graph_digest(self.program.graph), self.program.fabric.to_json()
        return DepthBinding(name, graph, fabric, sets, chosen.depths, {} if chosen is self.asked else self.most_rows)

    @cached_property
    def holds(self) -> str:
        """A sentence on the data that it holds for."""
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
    """Depths for the channels of ``program``, found by running it on the fast model.

    ``program``: a `Program`, a `Graph` or the name of a file.
    ``inputs``: .npz files that take the place of the program's own data; the choices hold for all of them.
    ``fabric``: a `FabricConfig` in the place of the program's own.
    ``begin``: depths of an earlier search, or their file, to go on from.
    ``bound``: True looks for the storage below which the program deadlocks, whatever the depths, which needs SciPy.
    ``choices``: after so many choices of depths have run, the best so far is the result.
    ``threads``: runs at a time, by default one per core.
    ``progress``: told what is going on.

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
    begin = begin if begin is None or isinstance(begin, DepthBinding) else DepthBinding.load(begin)
    earlier = [] if begin is None else [begin.applied(opened).graph.depths]
    threads = given.get("threads", cores())
    progress("channels that are never full")
    runs = first = _runs(opened, programs, threads, progress)
    free, asked = unbounded(first, list(map(Simulator, programs))), first.outcome(first.asked)
    nodes = first.netlist.graph.nodes
    most_rows = {name: max(1, n) for name, n in free.rows.items() if n < first.netlist.rows_from(nodes[name])}
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
        if not runs.ended:
            raise
    except Enough:
        pass  # what is known is the answer
    lossless = smallest(runs, fewest_cycles(runs), EQUAL)
    unbeaten = {(*(each.cycles or ()), each.bits): each for each in reversed(runs.ended)}
    front = [unbeaten[cost] for cost in undominated(unbeaten)]
    return Sizing(
        program=opened,
        data=tuple(map(str, inputs)) or (None,),
        digests=tuple(data_digest(each.graph, bind_inputs(each.graph, each.inputs)) for each in programs),
        asked=asked,
        kept=lossless if asked.cycles is None else smallest(runs, asked.cycles, EQUAL),
        lossless=lossless,
        least=smallest(runs),
        front=tuple(each for each in front if each.loss(lossless.cycles or ()) >= 0),
        runs=len(runs.known) + (0 if runs is first else len(first.known)),
        floor=runs.bits(runs.floor),
        bound=least_bits,
        most_rows=most_rows,
        interrupted=interrupted,
    )


def _runs(program: Program, programs: Sequence[Program], threads: int, progress: Progress) -> Runs:
    netlist = lower(program.graph, program.fabric)
    check_feasible(netlist)  # a slot has a size
    return Runs(netlist, list(map(Simulator, programs)), threads, progress)
