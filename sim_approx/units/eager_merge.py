"""EagerMerge: chunks of all inputs as they come."""

from __future__ import annotations

from dataclasses import dataclass, field

from sim_approx.placing.site import UnitSite, routing_sizes
from step.firing.machine import COMPUTES, ENDS, Machine
from step.firing.words import going, lowest, need, need_oldest, oldest, only, put, room, several, take, without
from step.language.tokens import Token
from step.ops.eager_merge import DATA, SELECTOR
from step.ops.eager_merge import EagerMerge as Operator

IDLE = -1


@dataclass(slots=True, eq=False, kw_only=True)
class EagerMerge(Machine):
    """The next input is chosen a cycle before it passes; an input needs no choice when all others are done.

    Words: ``passing``, the input whose chunk is next or has begun, or `IDLE`; ``begins``, it is next. ``arrivals``
    notes which input every data token was of.
    """

    rank: int
    passing: int = IDLE
    begins: bool = True
    arrivals: list[int] = field(default_factory=list)

    def fire(self) -> int | None:
        idle = self.passing == IDLE
        x = None
        if not idle:
            x = need(self.inputs[self.passing])
        ends = x is None or x.stop >= self.rank
        left = going(self.inputs)
        chosen = self.passing
        if x is not None and x.done:
            chosen = IDLE
        elif ends:
            if not several(left):
                chosen = lowest(left) if left else 0
            elif idle:
                chosen = need_oldest(self.inputs, left)
            else:
                # Behind the token that goes now nothing is seen yet.
                chosen = oldest(self.inputs, without(left, self.passing))
        if x is not None:
            room(self.outputs[DATA])
            if self.begins:
                room(self.outputs[SELECTOR])
            if x.done:
                for each in self.inputs:
                    take(each)
                put(self.outputs[DATA], x)
                put(self.outputs[SELECTOR], x)
                return ENDS
            take(self.inputs[self.passing])
            self.arrivals.append(self.passing)
            put(self.outputs[DATA], x)
            if self.begins:
                put(self.outputs[SELECTOR], Token(only(self.passing)))
        self.begins = ends
        if ends:
            self.passing = chosen
        return COMPUTES if x is not None and x.has_value else None


def build(site: UnitSite) -> Machine:
    operator = site.node.operator
    assert isinstance(operator, Operator)
    arrivals = site.arrivals.setdefault(site.node.name, [])
    return site.add(EagerMerge(**site.ports(), interval=site.beats, rank=operator.rank, arrivals=arrivals))


sizes = routing_sizes
