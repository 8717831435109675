"""Reassemble: gathers chunks from the inputs that selectors name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sim_approx.placing.site import UnitSite, routing_sizes
from step.firing.machine import COMPUTES, ENDS, Machine, Mask
from step.firing.words import (
    all_done,
    fault,
    front,
    lowest,
    need,
    need_all,
    need_oldest,
    oldest,
    put,
    room,
    several,
    take,
    without,
)
from step.language.faults import Fault
from step.language.tokens import DONE, Token, empty
from step.ops.reassemble import Reassemble as Operator

IDLE, SELECTOR, ALL = -1, -2, -3


@dataclass(slots=True, eq=False, kw_only=True)
class Reassemble(Machine):
    """The last input has the selectors. What is next is chosen a cycle before it passes.

    Words: ``passing``, the input whose chunk is chosen or has begun, `SELECTOR` if the selector itself is next (an
    empty, or Done), `ALL` behind that Done, or `IDLE`; ``selector``, the one that was taken with its first choice;
    ``left``, its inputs that are not chosen yet. ``arrivals`` notes which input every data token was of.
    """

    rank: int
    by_arrival: bool
    passing: int = IDLE
    selector: Token = DONE
    left: Mask = 0
    arrivals: list[int] = field(default_factory=list)

    def fire(self) -> int | None:
        x = self.selector
        ends = True
        if self.passing >= 0:
            x = need(self.inputs[self.passing])
            if x.done:
                fault(Fault.MISSING_DATA)
            ends = x.stop >= self.rank
        elif self.passing == ALL:
            tokens = need_all(self.inputs[:-1])
            if not all_done(tokens):
                fault(Fault.LEFTOVER_DATA)
            for each in self.inputs[:-1]:
                take(each)
            return ENDS
        elif self.passing == SELECTOR and x.done:
            room(self.outputs[0])
            put(self.outputs[0], x)
            self.passing = ALL
            return None
        idle = self.passing == IDLE
        passes = self.passing >= 0 and x.has_value
        selector = self.selector if self.left else need(self.inputs[-1]) if idle else front(self.inputs[-1])
        mask = self.left
        if not mask and selector is not None and selector.has_value:
            mask = selector.value
        chosen = self.passing
        if ends:
            if selector is None:
                chosen = IDLE
            elif not mask:
                chosen = SELECTOR
            elif not self.by_arrival or not several(mask):
                chosen = lowest(mask)
            elif idle:
                chosen = need_oldest(self.inputs, mask)
            else:
                # Behind the token that goes now nothing is seen yet.
                chosen = oldest(self.inputs, without(mask, self.passing) if self.passing >= 0 else mask)
        if not idle:
            room(self.outputs[0])
            end = self.rank + 1 + self.selector.stop
            if self.passing >= 0:
                take(self.inputs[self.passing])
                self.arrivals.append(self.passing)
                put(self.outputs[0], Token(x.value, end, x.rank) if ends and not self.left else x)
            else:
                put(self.outputs[0], empty(self.rank + 1 + x.rank, end))
        if ends:
            if chosen != IDLE:
                if selector is not None and not self.left:
                    take(self.inputs[-1])
                    self.selector = selector
                self.left = without(mask, chosen) if chosen >= 0 else 0
            self.passing = chosen
        return COMPUTES if passes else None

    def unfinished(self) -> Mapping[int, Token]:
        return {len(self.inputs) - 1: self.selector}


def build(site: UnitSite) -> Machine:
    operator = site.node.operator
    assert isinstance(operator, Operator)
    arrivals = site.arrivals.setdefault(site.node.name, [])
    by_arrival = operator.order == "arrival"
    return site.add(
        Reassemble(**site.ports(), interval=site.beats, rank=operator.rank, by_arrival=by_arrival, arrivals=arrivals)
    )


sizes = routing_sizes
