"""Reassemble: gathers chunks from the inputs that selectors name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sim_approx.machine import ENDS, Machine, fault, lowest, need, need_all, need_oldest, put, room, take
from sim_approx.site import Site
from step.language.faults import Fault
from step.language.graph import Node
from step.language.tokens import Token, empty
from step.ops.reassemble import Reassemble as Operator

CONTROL = (-1,)


@dataclass(slots=True, eq=False, kw_only=True)
class Reassemble(Machine):
    """The last input has the selectors. A chunk that was begun is finished before the next one.

    Words: ``remaining``, the inputs whose chunk of this selector is still to come (0: selector not begun);
    ``current``, the input whose chunk is passing (-1: none). ``arrivals`` notes which input every data token was of.
    """

    rank: int
    by_arrival: bool
    remaining: int = 0
    current: int = -1
    arrivals: list[int] = field(default_factory=list)

    def fire(self) -> int | None:
        selector = need(self.inputs[-1])
        if selector.done:
            tokens = need_all(self.inputs)
            if not all(each.done for each in tokens):
                fault(Fault.LEFTOVER_DATA)
            room(self.outputs[0])
            for each in self.inputs:
                take(each)
            put(self.outputs[0], selector)
            return ENDS
        end = self.rank + 1 + selector.stop
        mask = self.remaining or (selector.value if selector.has_value else 0)
        if not mask:
            room(self.outputs[0])
            take(self.inputs[-1])
            put(self.outputs[0], empty(self.rank + 1 + selector.rank, end))
            return None
        if self.current >= 0:
            port = self.current
        elif self.by_arrival:
            port = need_oldest(self.inputs, mask)
        else:
            port = lowest(mask)
        x = need(self.inputs[port])
        if x.done:
            fault(Fault.MISSING_DATA)
        room(self.outputs[0])
        ends = x.stop >= self.rank
        rest = mask & ~(1 << port) if ends else mask
        take(self.inputs[port])
        put(self.outputs[0], x if rest else Token(x.value, end, x.rank))
        self.arrivals.append(port)
        self.remaining = rest
        self.current = -1 if ends else port
        if not rest:
            take(self.inputs[-1])
        return None


def value_inputs(node: Node) -> Sequence[int]:
    """The selectors do not travel on."""
    return range(len(node.inputs) - 1)


def build(site: Site) -> Machine:
    operator = site.node.operator
    assert isinstance(operator, Operator)
    arrivals = site.arrivals.setdefault(site.node.name, [])
    by_arrival = operator.order == "arrival"
    return site.add(Reassemble(**site.ports(), rank=operator.rank, by_arrival=by_arrival, arrivals=arrivals))
