"""Expand: repeats elements, as often as a reference or a constant says."""

from __future__ import annotations

from dataclasses import dataclass

from step.firing.declared import Declared
from step.firing.machine import COMPUTES, ENDS, Machine
from step.firing.words import fault, need, put, room, take
from step.language.faults import Fault
from step.language.graph import Node
from step.language.tokens import Token
from step.ops.expand import Expand as Operator


@dataclass(slots=True, eq=False, kw_only=True)
class Repeat(Machine):
    """Every value ``count`` times, the last one with its stop. Word: ``index`` of the copy."""

    count: int
    index: int = 0

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        room(self.outputs[0])
        if not x.has_value:
            take(self.inputs[0])
            put(self.outputs[0], x)
            return ENDS if x.done else None
        last = self.index == self.count - 1
        if last:
            take(self.inputs[0])
        put(self.outputs[0], x if last else Token(x.value))
        self.index = 0 if last else self.index + 1
        return COMPUTES


@dataclass(slots=True, eq=False, kw_only=True)
class Follow(Machine):
    """The value in front of the data takes the stops of the reference, until one of ``rank`` or more."""

    rank: int

    def fire(self) -> int | None:
        data = need(self.inputs[0])
        reference = need(self.inputs[1])
        last = reference.done or reference.stop >= self.rank
        outside = reference.rank if reference.rank > self.rank else 0
        if reference.done != data.done or outside != data.rank or (last and reference.stop != data.stop):
            fault(Fault.STOPS_DISAGREE)
        room(self.outputs[0])
        take(self.inputs[1])
        if last:
            take(self.inputs[0])
        if reference.has_value:
            put(self.outputs[0], Token(data.value, reference.stop))
            return COMPUTES
        put(self.outputs[0], reference)
        return ENDS if reference.done else None


def rule(node: Node) -> Declared:
    """The firing rule of ``node``."""
    operator = node.operator_as(Operator)
    if operator.count is not None:
        return Declared(Repeat, {"count": operator.count})
    return Declared(Follow, {"rank": operator.rank})
