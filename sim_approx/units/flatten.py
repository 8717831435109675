"""Flatten: adjacent dimensions become one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sim_approx.machine import ENDS, Machine, need, put, room, take
from sim_approx.site import Site
from step.language.tokens import OPEN, Token, bare
from step.ops.flatten import Flatten as Operator


@dataclass(slots=True, eq=False, kw_only=True)
class Flatten(Machine):
    """No dimension below ``high`` can be empty, so that no stop has to be moved onto an earlier token.

    Word: ``before``, the stop taken last.
    """

    low: int
    high: int
    merged_stop: Callable[[int], int]
    before: int = OPEN

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        empty = x.is_bare and min(x.stop, self.before) > self.low
        if not empty or x.stop > self.high:
            room(self.outputs[0])
        take(self.inputs[0])
        self.before = x.stop
        if x.done:
            put(self.outputs[0], x)
            return ENDS
        if not empty:
            put(self.outputs[0], Token(x.value, self.merged_stop(x.stop)))
        elif x.stop > self.high:
            put(self.outputs[0], bare(x.stop - (self.high - self.low)))
        return None


@dataclass(slots=True, eq=False, kw_only=True)
class HoldingFlatten(Machine):
    """A token that ends a merged dimension waits for the next one, whose stop it may have to carry.

    Words: ``held``, the token that waits; ``before``, the stop taken last.
    """

    low: int
    high: int
    merged_stop: Callable[[int], int]
    held: Token | None = None
    before: int = OPEN

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        if x.is_bare and min(x.stop, self.before) > self.low:
            if x.stop > self.high:
                room(self.outputs[0])
            take(self.inputs[0])
            self.before = x.stop
            if x.stop > self.high:
                stop = x.stop - (self.high - self.low)
                put(self.outputs[0], bare(stop) if self.held is None else Token(self.held.value, stop))
                self.held = None
            return None
        holdable = not x.done and self.low < x.stop <= self.high
        if self.held is not None:
            room(self.outputs[0])
            put(self.outputs[0], self.held)
            self.held = None
            if holdable:
                take(self.inputs[0])
                self.held = Token(x.value, self.merged_stop(x.stop))
                self.before = x.stop
            return None
        if not holdable:
            room(self.outputs[0])
        take(self.inputs[0])
        self.before = x.stop
        if x.done:
            put(self.outputs[0], x)
            return ENDS
        if holdable:
            self.held = Token(x.value, self.merged_stop(x.stop))
        else:
            put(self.outputs[0], Token(x.value, self.merged_stop(x.stop)))
        return None


def build(site: Site) -> Machine:
    operator = site.node.operator
    assert isinstance(operator, Operator)
    kind = HoldingFlatten if operator.holds(site.node.inputs[0].type) else Flatten
    machine = kind(**site.ports(), low=operator.low, high=operator.high, merged_stop=operator.merged_stop)
    return site.add(machine)
