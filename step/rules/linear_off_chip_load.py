"""LinearOffChipLoad: requests along a walk over the tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from step.firing.declared import PENDING, REQUEST, Declared
from step.firing.machine import ENDS, Counter, Machine
from step.firing.words import need, put, room, take
from step.language.graph import Node
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
        last = self.step == len(self.levels) - 1
        level = self.levels[self.step] + x.stop if last else self.levels[self.step]
        put(self.outputs[REQUEST], Token(self.addresses[self.step]))
        put(self.outputs[PENDING], Token(self.tiles[self.indices[self.step]], level))
        if last:
            take(self.inputs[0])
        self.step = 0 if last else self.step + 1
        return None


@dataclass(slots=True, eq=False, kw_only=True)
class IssueOnce(Machine):
    """One read, then Done. Words: ``step`` of the walk, which is ``over``."""

    counter = Counter("step", entries="levels", sent="addresses", to=REQUEST, tiles="tiles")

    addresses: Sequence[int]
    indices: Sequence[int]
    levels: Sequence[int]
    tiles: Sequence[Any]
    step: int = 0
    over: bool = False

    def fire(self) -> int | None:
        if not self.over:
            room(self.outputs[REQUEST])
        room(self.outputs[PENDING])
        if self.over:
            put(self.outputs[PENDING], DONE)
            return ENDS
        put(self.outputs[REQUEST], Token(self.addresses[self.step]))
        put(self.outputs[PENDING], Token(self.tiles[self.indices[self.step]], self.levels[self.step]))
        self.over = self.step == len(self.levels) - 1
        if not self.over:
            self.step += 1
        return None


def rule(node: Node) -> Declared:
    """The firing rule of ``node``."""
    operator = node.operator_as(Operator)
    walk = {"indices": operator.indices, "levels": operator.indices.stops}
    if node.inputs:
        return Declared(IssuePerReference, {**walk, "rank": len(operator.out)}, loads=operator.indices)
    return Declared(IssueOnce, walk, loads=operator.indices)
