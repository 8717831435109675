"""EagerMerge: chunks of all inputs as they come."""

from __future__ import annotations

from dataclasses import dataclass, field

from step.firing.declared import Declared
from step.firing.machine import COMPUTES, ENDS, Machine, Mask
from step.firing.words import (
    chosen,
    going,
    lowest,
    need_any,
    need_each,
    oldest,
    only,
    put,
    room,
    several,
    take,
    waiting,
    without,
)
from step.language.graph import Node
from step.language.tokens import DONE, Token
from step.ops.eager_merge import DATA, SELECTOR
from step.ops.eager_merge import EagerMerge as Operator


@dataclass(slots=True, eq=False, kw_only=True)
class EagerMerge(Machine):
    """The next input is chosen a cycle before it passes; an input needs no choice when all others are done.

    Words: ``passing``, the input whose chunk is next or has begun, none if all are done; ``idle``, nothing is chosen;
    ``begins``, a chunk is next. ``arrivals`` notes which input every data token was of.
    """

    rank: int
    passing: Mask = 0
    idle: bool = True
    begins: bool = True
    arrivals: list[int] = field(default_factory=list)

    def fire(self) -> int | None:
        passing = 0 if self.idle else self.passing
        x = need_each(self.inputs, passing)
        left = going(self.inputs)
        closes = not (self.idle or left)
        others = without(left, passing)  # behind the token that goes now nothing is seen yet
        choices = several(left)
        following = oldest(self.inputs, others) if choices else left
        ready = not (choices and not waiting(self.inputs, others))
        ends = self.idle or x.stop >= self.rank
        if self.idle:
            if choices:
                need_any(self.inputs, others)
        else:
            room(self.outputs[DATA])
            if self.begins:
                room(self.outputs[SELECTOR])
        if closes:
            for each in self.inputs:
                take(each)
        else:
            for each in chosen(self.inputs, passing):
                take(each)
        passes = not self.idle and x.has_value
        if not self.idle:
            put(self.outputs[DATA], Token(x.value, x.stop, x.rank, closes))
            if self.begins:
                put(self.outputs[SELECTOR], DONE if closes else Token(only(self.passing)))
            if not closes:
                self.arrivals.append(lowest(self.passing))
        self.begins = ends
        if ends:
            self.idle = not ready
            self.passing = following
        return ENDS if closes else COMPUTES if passes else None


def rule(node: Node) -> Declared:
    """The firing rule of ``node``."""
    operator = node.operator_as(Operator)
    return Declared(EagerMerge, {"rank": operator.rank})
