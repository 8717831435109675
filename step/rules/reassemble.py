"""Reassemble: gathers chunks from the inputs that selectors name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from step.firing.declared import Declared
from step.firing.machine import COMPUTES, ENDS, Machine, Mask
from step.firing.words import (
    chosen,
    every,
    fault,
    first,
    front,
    going,
    lowest,
    need,
    need_any,
    need_each,
    oldest,
    put,
    room,
    several,
    take,
    waiting,
    without,
)
from step.language.faults import Fault
from step.language.graph import Node
from step.language.tokens import BLANK, Token
from step.ops.reassemble import Reassemble as Operator


@dataclass(slots=True, eq=False, kw_only=True)
class Reassemble(Machine):
    """The last input has the selectors. What is next is chosen a cycle before it passes.

    Words: ``passing``, the input whose chunk is chosen or has begun, or all with their Done, which was put if it is
    ``over``; ``idle``, nothing is chosen; ``bare``, an empty is next; ``selector``, the one that was taken with its
    first choice; ``left``, its inputs that are not chosen yet; ``fresh``, there are none. ``arrivals`` notes which
    input every data token was of.
    """

    rank: int
    by_arrival: bool
    passing: Mask = 0
    idle: bool = True
    bare: bool = False
    over: bool = False
    selector: Token = BLANK
    left: Mask = 0
    fresh: bool = True
    arrivals: list[int] = field(default_factory=list)
    unfinished_words: ClassVar[Mapping[str, int]] = {"selector": -1}

    def fire(self) -> int | None:
        data = self.inputs[:-1]
        x = need_each(data, self.passing)
        if self.over and going(data):
            fault(Fault.LEFTOVER_DATA)
        if x.done and not self.over:
            fault(Fault.MISSING_DATA)
        ends = self.idle or self.bare or x.stop >= self.rank
        selector = front(self.inputs[-1]) if self.fresh else self.selector
        ready = selector is not None
        if selector is not None:
            mask = self.left
            if self.fresh and selector.has_value:
                mask = selector.value
            others = without(mask, self.passing)  # behind the token that goes now nothing is seen yet
            choices = self.by_arrival and several(mask)
            following = oldest(data, others) if choices else mask if self.by_arrival else first(mask)
            ready = not (choices and not waiting(data, others))
        if self.idle:
            if self.fresh:
                need(self.inputs[-1])
            if choices:
                need_any(data, others)
        elif not self.over:
            room(self.outputs[0])
        for each in chosen(data, self.passing):
            take(each)
        if self.over:
            return ENDS
        passes = not self.idle and x.has_value
        if not self.idle:
            closes = self.selector.done
            end = self.rank + 1 + self.selector.stop
            stop = end if self.bare or (ends and self.fresh and not closes) else x.stop
            rank = self.rank + 1 + self.selector.rank if self.bare else x.rank
            put(self.outputs[0], Token(x.value, stop, rank, closes))
            if self.passing:
                self.arrivals.append(lowest(self.passing))
        if self.selector.done:
            self.passing = every(data)
            self.over = True
        elif ends:
            self.idle = not ready
            self.bare = False
            self.passing = 0
            if ready and selector is not None:
                if self.fresh:
                    take(self.inputs[-1])
                    self.selector = selector
                self.passing = following
                self.left = without(mask, following)
                self.fresh = not self.left
                self.bare = not mask and not selector.done
        return COMPUTES if passes else None


def rule(node: Node) -> Declared:
    """The firing rule of ``node``."""
    operator = node.operator_as(Operator)
    return Declared(Reassemble, {"rank": operator.rank, "by_arrival": operator.order == "arrival"})
