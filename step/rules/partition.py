"""Partition: routes chunks to the outputs that selectors name."""

from __future__ import annotations

from dataclasses import dataclass

from step.firing.declared import Declared
from step.firing.machine import COMPUTES, ENDS, Machine
from step.firing.words import chosen, fault, need, put, room, take
from step.language.faults import Fault
from step.language.graph import Node
from step.language.tokens import Token
from step.ops.partition import DATA, SELECTOR
from step.ops.partition import Partition as Operator


@dataclass(slots=True, eq=False, kw_only=True)
class Partition(Machine):
    """A selector stays until its chunk, data up to a stop of ``rank`` or more, has passed."""

    rank: int

    def fire(self) -> int | None:
        data = need(self.inputs[DATA])
        selector = need(self.inputs[SELECTOR])
        if not selector.has_value:
            if selector.done != data.done:
                fault(Fault.MISSING_DATA if data.done else Fault.LEFTOVER_DATA)
            if not selector.done and (data.rank != selector.rank + self.rank or data.stop != selector.stop + self.rank):
                fault(Fault.STOPS_DISAGREE)
            if selector.done:
                for each in self.outputs:
                    room(each)
            take(self.inputs[DATA])
            take(self.inputs[SELECTOR])
            if selector.done:
                for each in self.outputs:
                    put(each, data)
                return ENDS
            return None
        if data.done:
            fault(Fault.MISSING_DATA)
        ends = data.stop >= self.rank
        if data.rank > self.rank or (ends and data.stop != selector.stop + self.rank):
            fault(Fault.STOPS_DISAGREE)
        targets = chosen(self.outputs, selector.value)
        for each in targets:
            room(each)
        take(self.inputs[DATA])
        if ends:
            take(self.inputs[SELECTOR])
        routed = Token(data.value, min(data.stop, self.rank), data.rank)
        for each in targets:
            put(each, routed)
        return COMPUTES if data.has_value and targets else None


def rule(node: Node) -> Declared:
    """The firing rule of ``node``."""
    operator = node.operator_as(Operator)
    return Declared(Partition, {"rank": operator.rank})
