"""Units of a program on a grid, and the cycles that its channels take for their distance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from sim_approx.backend import Model
from sim_approx.engine.record import RunRecord
from sim_approx.explain.causes import Causes
from sim_approx.explain.path import critical_path
from step.errors import InputError
from step.host.progress import Progress, silent
from step.language.graph import Node
from step.language.parameters import settled
from step.language.stream import Hops
from step.lowering.feasible import lanes_of
from step.lowering.memory import scratchpads
from step.lowering.netlist import Channel, Netlist, lower
from step.programs.files.fitted import FittedFile
from step.programs.prepare import Openable, open_program, prepare
from step.programs.program import Program
from step_explore.areas import area_of
from step_explore.placing.anneal import anneal, routes
from step_explore.placing.grid import MEMORY, OTHER, PRODUCT, TRANSFER, VECTOR, Grid, Place, Tracks, grid_of

ROUNDS = 4
"""Placements that are tried: each after the first pulls together what was on the critical paths of those before."""

URGENT = 2.0
"""Cost of hops on these paths, all together, as a multiple of that of a hop of every channel."""


@dataclass(frozen=True, repr=False)
class Placement:
    """A program on a grid, as `step.place` makes it.

    ``program``: the program, on a fabric with the hops of every channel.
    ``netlist``: its units and channels on that.
    ``grid``: the `Grid`.
    ``places``: column and row of each unit, by name. Units that share a scratchpad have one place.
    ``routes``: by channel the places that it passes, from its writer to its reader.
    ``hop``: hops of a channel from a place to the next one.
    ``near``: cycles without hops.
    ``tried``: cycles of each placement that was tried, of which the first one looks at lengths alone.

    >>> placed = step.place(program, hop=3)
    >>> str(placed.grid), placed.near, placed.cycles
    ('2x2', 32, 38)
    """

    program: Program
    netlist: Netlist
    grid: Grid
    places: Mapping[str, Place]
    routes: Mapping[str, list[Place]]
    hop: int
    near: int
    tried: tuple[int, ...]

    def __repr__(self) -> str:
        return f"<{self.title}>"

    @property
    def cycles(self) -> int:
        """Cycles with hops."""
        return min(self.tried)

    @property
    def title(self) -> str:
        """Program, grid and cycles, in a line."""
        return f"{self.program.name} on {self.grid}: {self.cycles:,} cycles, {self.near:,} without distance"

    def steps(self, channel: Channel) -> int:
        """Places from the writer of ``channel`` to its reader."""
        return len(self.routes[channel.name]) - 1

    @property
    def passing(self) -> Counter[tuple[Place, Place]]:
        """Channels between each two places where some pass, of which the first one is above or to the left."""
        return passing(self.routes.values())

    def file(self) -> FittedFile:
        """The fabric as a file, for ``--fitted``."""
        fabric, area = self.program.fabric, area_of(self.netlist).rounded()
        return FittedFile.of(replace(self.program, fabric=replace(fabric, hops={})), fabric, {}, self.cycles, area)


def place(
    program: Openable,
    grid: Grid | Path | str | tuple[int, int] | None = None,
    *,
    hop: int = 1,
    tracks: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Placement:
    """Placement of a program on a grid by simulated annealing; each of its channels has hops by its distance.

    ``program``: a `Program`, a `Graph` or the name of a file, which must run to its end.
    ``grid``: a `Grid`, the name of its file, or columns and rows; None for the smallest square with room.
    ``hop``: hops of a channel from a place to the next one.
    ``tracks``: the most channels between two places; None for those of the grid.
    ``seed``: equal seeds give equal places.

    Channels whose distance is on the critical path of a run pull most; of several placements that with the fewest
    cycles is taken. Raises `InputError` for a grid without room for the units or their channels, `EnvironmentProblem`
    where there is no compiler, and what `run` raises.

    >>> step.place(program)
    <sums on 2x2: 34 cycles, 32 without distance>
    """
    opened = open_program(program)
    settled(hop, Hops, "hop", InputError)
    settled(tracks, Tracks | None, "tracks", InputError)
    near = replace(opened, fabric=replace(opened.fabric, hop=0, hops={}))
    netlist = lower(near.graph, near.fabric)
    blocks, kinds = _blocks(netlist)
    side = math.isqrt(len(kinds) - 1) + 1
    floor = Grid.of(side, side) if grid is None else grid_of(grid)
    floor = floor if tracks is None else replace(floor, tracks=tracks)
    floor.check_room(kinds, opened.name)
    base = critical(near, progress)[0]
    ends = [(blocks[each.producer[0]], blocks[each.consumer[0]]) for each in netlist.channels]
    best, tried, urgent = None, list[int](), Counter[int]()
    for attempt in range(ROUNDS):
        progress(f"placing {len(kinds):,} blocks, for the {attempt + 1}. time")
        share = URGENT * len(ends) / (urgent.total() or 1)
        weights = [1 + share * urgent[number] for number in range(len(ends))]
        found = anneal(kinds, [(*pair, weight) for pair, weight in zip(ends, weights, strict=True)], floor, hop, seed)
        ways = routes([(found[one], found[two]) for one, two in ends], weights, floor, hop)
        passed = {each.name: way for each, way in zip(netlist.channels, ways, strict=True)}
        _check_tracks(ways, floor, opened.name)
        far = replace(near, fabric=replace(near.fabric, hops=_hops(passed, floor, hop)))
        cycles, distances = critical(far, progress)
        if not tried or cycles < min(tried):
            best = far, {name: found[block] for name, block in blocks.items()}, passed
        tried.append(cycles)
        urgent += distances
    assert best is not None
    placed, places, passed = best
    return Placement(placed, lower(placed.graph, placed.fabric), floor, places, passed, hop, base, tuple(tried))


def critical(program: Program, progress: Progress = silent) -> tuple[int, Counter[int]]:
    """Cycles of a run, and those on its critical path that went to the distance of each channel, by its number."""
    record = RunRecord()
    ran = Model.of(prepare(program)).run(record, progress=progress)
    cycles = ran.finished().cycles
    causes, shares = Causes(ran.fabric), critical_path(ran.fabric, record, cycles).shares()
    numbers = range(len(ran.fabric.netlist.channels))
    return cycles, Counter({number: shares.get(causes.distance(number), 0) for number in numbers})


def passing(routes: Iterable[list[Place]]) -> Counter[tuple[Place, Place]]:
    """The number of ``routes`` that pass between each two places, as `Placement.passing`."""
    return Counter((min(step), max(step)) for each in routes for step in pairwise(each))


def _check_tracks(routes: Iterable[list[Place]], grid: Grid, name: str) -> None:
    """Raise `InputError` where more channels pass between two places than ``grid`` has tracks."""
    for ends, most in passing(routes).most_common(1):
        if grid.tracks is not None and most > grid.tracks:
            one, other = (f"column {column}, row {row}" for column, row in ends)
            raise InputError(
                f"the channels of {name} do not fit into tracks={grid.tracks} on {grid}: {most} pass between {one} and "
                f"{other}; with tracks={most} they do"
            )


def _hops(routes: Mapping[str, list[Place]], grid: Grid, hop: int) -> dict[str, int]:
    """Hops of each channel on its route."""
    across, down = grid.along(hop)

    def apart(one: Place, other: Place) -> int:
        return abs(across[one[0]] - across[other[0]]) + abs(down[one[1]] - down[other[1]])

    return {name: sum(apart(*step) for step in pairwise(route)) for name, route in routes.items()}


def _blocks(netlist: Netlist) -> tuple[dict[str, int], list[str]]:
    """The number of the block that each unit is in, and the kind of each block: all units that share a scratchpad are
    in one, others alone."""
    together = {
        node.name: pad.shares[0].filler.name
        for pad in scratchpads(netlist)
        for share in pad.shares
        for node in (share.filler, share.reader)
    }
    kinds = {
        together.get(unit.name, unit.name): MEMORY if unit.name in together else _kind(unit, netlist)
        for unit in netlist.units
    }
    numbers = {name: number for number, name in enumerate(kinds)}
    return {unit.name: numbers[together.get(unit.name, unit.name)] for unit in netlist.units}, list(kinds.values())


def _kind(unit: Node, netlist: Netlist) -> str:
    """The kind of a ``unit`` that shares no scratchpad."""
    operator = unit.operator
    if operator.reads(unit) is not None or operator.writes(unit) is not None:
        return TRANSFER
    if operator.function is None or not lanes_of(unit, netlist):
        return OTHER
    return PRODUCT if operator.function.name == "matmul" else VECTOR
