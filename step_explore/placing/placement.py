"""Units of a program on a grid, and the cycles that its channels take for their distance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

from sim_approx.explain.causes import Causes
from sim_approx.explain.explanation import Explanation, explain
from sim_approx.simulator import Simulator
from step.errors import InputError
from step.host.progress import Progress, silent
from step.language.parameters import Within, settled
from step.language.stream import Hops
from step.lowering.memory import scratchpads
from step.lowering.netlist import Channel, Netlist, lower
from step.programs.files.fitted import FittedFile
from step.programs.prepare import Openable, open_program
from step.programs.program import Program
from step_explore.areas import area_of
from step_explore.placing.anneal import anneal

ROUNDS = 4
"""Placements that are tried: each after the first pulls together what was on the critical paths of those before."""

URGENT = 2.0
"""Cost of steps on these paths, all together, as a multiple of that of one step of every channel."""

Place = tuple[int, int]
"""A column and a row."""

Side = Annotated[int, Within(1, 1 << 10)]


@dataclass(frozen=True, repr=False)
class Placement:
    """A program on a grid, as `step.place` makes it.

    ``program``: the program, on a fabric with the hops of every channel.
    ``netlist``: its units and channels on that.
    ``grid``: columns and rows.
    ``places``: column and row of each unit, by name. Units that share a scratchpad have one place.
    ``hop``: hops of a channel from a place to the next one.
    ``near``: cycles without hops.
    ``cycles``: cycles with them.

    >>> placed = step.place(program, hop=3)
    >>> placed.grid, placed.near, placed.cycles
    ((2, 2), 32, 38)
    """

    program: Program
    netlist: Netlist
    grid: tuple[int, int]
    places: Mapping[str, Place]
    hop: int
    near: int
    cycles: int

    def __repr__(self) -> str:
        return f"<{self.title}>"

    @property
    def title(self) -> str:
        """Program, grid and cycles, in a line."""
        columns, rows = self.grid
        return f"{self.program.name} on {columns}x{rows}: {self.cycles:,} cycles, {self.near:,} without distance"

    def steps(self, channel: Channel) -> int:
        """Places from the writer of ``channel`` to its reader."""
        return _steps(self.places, channel)

    def file(self) -> FittedFile:
        """The fabric as a file, for ``--fitted``."""
        fabric, area = self.program.fabric, area_of(self.netlist).rounded()
        return FittedFile.of(replace(self.program, fabric=replace(fabric, hops={})), fabric, {}, self.cycles, area)


def place(
    program: Openable,
    grid: tuple[int, int] | None = None,
    *,
    hop: int = 1,
    seed: int = 0,
    progress: Progress = silent,
) -> Placement:
    """Placement of a program on a grid by simulated annealing; each of its channels has hops by its distance.

    ``program``: a `Program`, a `Graph` or the name of a file, which must run to its end.
    ``grid``: columns and rows; None for the smallest square with a place for every unit.
    ``hop``: hops of a channel from a place to the next one.
    ``seed``: equal seeds give equal places.

    Channels whose distance is on the critical path of a run pull most; of several placements that with the fewest
    cycles is taken. Raises `InputError` for a grid that is too small, `EnvironmentProblem` where there is no compiled
    engine, and what `run` raises.

    >>> step.place(program)
    <sums on 2x2: 34 cycles, 32 without distance>
    """
    opened = open_program(program)
    settled(hop, Hops, "hop", InputError)
    near = replace(opened, fabric=replace(opened.fabric, hop=0, hops={}))
    netlist = lower(near.graph, near.fabric)
    blocks = _blocks(netlist)
    count = max(blocks.values()) + 1
    side = math.isqrt(count - 1) + 1
    columns, rows = (settled(each, Side, "a side of a grid", InputError) for each in grid or (side, side))
    if columns * rows < count:
        raise InputError(
            f"a grid of {columns}x{rows} has {columns * rows:,} places, and {opened.name} needs {count:,}, as for "
            f"{side}x{side}"
        )
    base = Simulator(near).run(progress=progress).cycles
    best, urgent = None, Counter[int]()
    for attempt in range(ROUNDS):
        progress(f"placing {count:,} blocks, for the {attempt + 1}. time")
        share = URGENT * len(netlist.channels) / (urgent.total() or 1)
        ends = ((blocks[each.producer[0]], blocks[each.consumer[0]]) for each in netlist.channels)
        pulls = [(*pair, 1 + share * urgent[number]) for number, pair in enumerate(ends)]
        found = anneal(count, pulls, columns, rows, seed)
        places = {name: found[block] for name, block in blocks.items()}
        hops = {each.name: hop * _steps(places, each) for each in netlist.channels}
        far = replace(near, fabric=replace(near.fabric, hops=hops))
        explained = explain(far, changes=False, progress=progress)
        if best is None or explained.cycles < best.cycles:
            best = Placement(far, explained.simulation.netlist, (columns, rows), places, hop, base, explained.cycles)
        urgent += distances(explained)
    assert best is not None
    return best


def distances(found: Explanation) -> Counter[int]:
    """Cycles on the critical path that went to the distance of each channel, by its number."""
    causes, shares = Causes(found.simulation.fabric), found.path.shares()
    numbers = range(len(found.simulation.netlist.channels))
    return Counter({number: shares.get(causes.distance(number), 0) for number in numbers})


def _steps(places: Mapping[str, Place], channel: Channel) -> int:
    (x, y), (to_x, to_y) = places[channel.producer[0]], places[channel.consumer[0]]
    return abs(to_x - x) + abs(to_y - y)


def _blocks(netlist: Netlist) -> dict[str, int]:
    """The number of the block that each unit is in: all that share a scratchpad are in one, others alone."""
    together = {
        node.name: pad.shares[0].filler.name
        for pad in scratchpads(netlist)
        for share in pad.shares
        for node in (share.filler, share.reader)
    }
    names = {unit.name: together.get(unit.name, unit.name) for unit in netlist.units}
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names.values()))}
    return {unit: numbers[name] for unit, name in names.items()}
