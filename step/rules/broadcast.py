"""Broadcast: every token to all outputs, in the cycle in which all of them have space."""

from __future__ import annotations

from dataclasses import dataclass

from step.firing.declared import Declared
from step.firing.machine import COMPUTES, ENDS, Machine
from step.firing.words import need, put, room, take
from step.language.graph import Node


@dataclass(slots=True, eq=False, kw_only=True)
class Broadcast(Machine):
    """The slowest reader sets the pace."""

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        for each in self.outputs:
            room(each)
        take(self.inputs[0])
        for each in self.outputs:
            put(each, x)
        return COMPUTES if x.has_value else ENDS if x.done else None


def rule(node: Node) -> Declared:
    """The firing rule of ``node``."""
    return Declared(Broadcast)
