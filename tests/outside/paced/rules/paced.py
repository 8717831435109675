"""Paced: the rule by which it fires."""

from __future__ import annotations

from dataclasses import dataclass

from step.firing.declared import Declared
from step.firing.machine import COMPUTES, ENDS, Machine
from step.firing.words import need_all, put, room, take
from step.language.faults import aligned
from step.language.graph import Node
from step.language.tokens import Token


@dataclass(slots=True, eq=False, kw_only=True)
class Paced(Machine):
    """Both inputs at once, the words of the first."""

    def fire(self) -> int | None:
        x = aligned(*need_all(self.inputs))
        room(self.outputs[0])
        for each in self.inputs:
            take(each)
        if x.has_value:
            put(self.outputs[0], Token(x.value, x.stop))
            return COMPUTES
        put(self.outputs[0], x)
        return ENDS if x.done else None


def rule(node: Node) -> Declared:
    """What ``node`` fires by."""
    return Declared(Paced)
