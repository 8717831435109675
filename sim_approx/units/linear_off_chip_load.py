"""LinearOffChipLoad: one machine asks for tiles, another one hands them on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sim_approx.memory.off_chip import PENDING, REQUEST, load
from sim_approx.placing.site import UnitSite
from step.firing.machine import ENDS, Counter, Machine
from step.firing.words import need, put, room, take
from step.language.loops import listed
from step.language.tokens import DONE, Token, empty
from step.ops.linear_off_chip_load import LinearOffChipLoad as Operator


@dataclass(slots=True, eq=False, kw_only=True)
class IssuePerReference(Machine):
    """One read per value of the reference; the last tile's stop is raised by what follows that value.

    ``addresses`` (of beats), ``indices`` (of ``tiles``, which are values) and ``levels`` are the walk of one read.
    Word: ``step`` of the walk.
    """

    rank: int
    addresses: Sequence[int]
    indices: Sequence[int]
    levels: Sequence[int]
    tiles: Sequence[Any]
    step: int = 0

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        if x.has_value:
            room(self.outputs[REQUEST])
        room(self.outputs[PENDING])
        if not x.has_value:
            take(self.inputs[0])
            put(self.outputs[PENDING], x if x.done else empty(x.rank + self.rank, x.stop + self.rank))
            return ENDS if x.done else None
        last = self.step == len(self.addresses) - 1
        level = self.levels[self.step] + x.stop if last else self.levels[self.step]
        put(self.outputs[REQUEST], Token(self.addresses[self.step]))
        put(self.outputs[PENDING], Token(self.tiles[self.indices[self.step]], level))
        if last:
            take(self.inputs[0])
        self.step = 0 if last else self.step + 1
        return None


@dataclass(slots=True, eq=False, kw_only=True)
class IssueOnce(Machine):
    """One read, then Done. Word: ``step`` of the walk."""

    counter = Counter("step", entries="levels", sent="addresses", to=REQUEST, tiles="tiles")

    addresses: Sequence[int]
    indices: Sequence[int]
    levels: Sequence[int]
    tiles: Sequence[Any]
    step: int = 0

    def fire(self) -> int | None:
        last = self.step == len(self.addresses)
        if not last:
            room(self.outputs[REQUEST])
        room(self.outputs[PENDING])
        if last:
            put(self.outputs[PENDING], DONE)
            return ENDS
        put(self.outputs[REQUEST], Token(self.addresses[self.step]))
        put(self.outputs[PENDING], Token(self.tiles[self.indices[self.step]], self.levels[self.step]))
        self.step += 1
        return None


def build(site: UnitSite) -> Machine:
    node, operator = site.node, site.node.operator_as(Operator)
    walk, region = operator.indices, site.memory_map.loads[node.name]
    addresses = listed(walk.times(region.beats_per_tile, region.base))
    read = {"addresses": addresses, "levels": listed(walk.stops), "indices": listed(walk)}
    if site.inputs:
        return load(site, IssuePerReference, rank=len(operator.out), **read)
    return load(site, IssueOnce, **read)
