"""Shift: the rule by which it fires."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shifted.ops.shift import zeros
from step.firing.declared import Declared
from step.firing.machine import COMPUTES, ENDS, Machine
from step.firing.words import need, put, room, take
from step.language.graph import Node
from step.language.tokens import Token


@dataclass(slots=True, eq=False, kw_only=True)
class Shift(Machine):
    """Words: the element ``before``, which waits; the last one of a row, which has been answered, ``goes``.

    What goes nowhere is taken in a firing of its own: then no words lie in front of its own.
    """

    zero: Any
    before: Token | None = None
    goes: bool = False

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        if self.goes:
            take(self.inputs[0])
            self.goes = False
            return None
        room(self.outputs[0])
        if not x.has_value:
            take(self.inputs[0])
            put(self.outputs[0], x)
            return ENDS if x.done else None
        put(self.outputs[0], Token(self.zero if self.before is None else self.before.value, x.stop))
        if x.stop == 0:
            take(self.inputs[0])
            self.before = x
            return COMPUTES
        self.before = None
        self.goes = True
        return COMPUTES


def rule(node: Node) -> Declared:
    """What ``node`` fires by."""
    return Declared(Shift, {"zero": zeros(node)})
