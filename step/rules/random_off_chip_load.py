"""RandomOffChipLoad: a request for every address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from step.firing.declared import PENDING, REQUEST, Declared
from step.firing.machine import ENDS, Machine
from step.firing.words import fault, need, number, put, room, take
from step.language.faults import Fault
from step.language.graph import Node
from step.language.loops import Walk
from step.language.tokens import Token
from step.ops.random_off_chip_load import RandomOffChipLoad as Operator


@dataclass(slots=True, eq=False, kw_only=True)
class RandomIssue(Machine):
    """Asks for tile number n of ``tiles`` at entry n of ``addresses``, for every n that comes."""

    addresses: Sequence[int]
    tiles: Sequence[Any]

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        if not x.has_value:
            room(self.outputs[PENDING])
            take(self.inputs[0])
            put(self.outputs[PENDING], x)
            return ENDS if x.done else None
        place = number(x.value)
        if place >= len(self.addresses):
            fault(Fault.OUT_OF_RANGE)
        room(self.outputs[REQUEST])
        room(self.outputs[PENDING])
        take(self.inputs[0])
        put(self.outputs[REQUEST], Token(self.addresses[place]))
        put(self.outputs[PENDING], Token(self.tiles[place], x.stop))
        return None


def rule(node: Node) -> Declared:
    """The firing rule of ``node``."""
    return Declared(RandomIssue, loads=Walk((node.operator_as(Operator).tiling.count,), (1,)))
