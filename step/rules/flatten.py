"""Flatten: adjacent dimensions become one."""

from __future__ import annotations

from dataclasses import dataclass

from step.firing.declared import Declared
from step.firing.machine import COMPUTES, ENDS, Machine
from step.firing.words import need, put, room, take
from step.language.graph import Node
from step.language.tokens import UNKNOWN, Token, empty
from step.ops.flatten import Flatten as Operator


@dataclass(slots=True, eq=False, kw_only=True)
class Flatten(Machine):
    """No merged row can end with an empty that adds nothing to it, so that no token has to wait.

    ``stops`` has by stop what becomes of it.
    """

    low: int
    high: int
    stops: tuple[int, ...]

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        vanishes = self.low < x.rank <= self.high
        if not vanishes:
            room(self.outputs[0])
        take(self.inputs[0])
        if not vanishes:
            rank = x.rank - self.high + self.low if x.rank > self.high else x.rank
            put(self.outputs[0], Token(x.value, self.stops[x.stop], rank, x.done))
        return COMPUTES if x.has_value else ENDS if x.done else None


@dataclass(slots=True, eq=False, kw_only=True)
class HoldingFlatten(Machine):
    """A token that does not end the merged row waits for the next one, which may be an empty that does.

    ``stops`` as above. Word: ``held``, the token that waits.
    """

    low: int
    high: int
    stops: tuple[int, ...]
    held: Token | None = None

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        if self.low < x.rank <= self.high:
            if x.stop > self.high:
                room(self.outputs[0])
            take(self.inputs[0])
            if x.stop <= self.high:
                return None
            stop = x.stop - self.high + self.low
            row = empty(self.low + 1) if self.held is None else self.held
            put(self.outputs[0], Token(row.value, stop, row.rank))
            self.held = None
            return COMPUTES if row.has_value else None
        holdable = self.low < x.stop <= self.high
        rank = x.rank - self.high + self.low if x.rank > self.high else x.rank
        merged = Token(x.value, self.stops[x.stop], rank, x.done)
        if self.held is not None:
            room(self.outputs[0])
            row = self.held
            put(self.outputs[0], row)
            self.held = None
            if holdable:
                take(self.inputs[0])
                self.held = merged
            return COMPUTES if row.has_value else None
        if not holdable:
            room(self.outputs[0])
        take(self.inputs[0])
        if holdable:
            self.held = merged
            return None
        put(self.outputs[0], merged)
        return COMPUTES if x.has_value else ENDS if x.done else None


def rule(node: Node) -> Declared:
    """The firing rule of ``node``."""
    operator = node.operator_as(Operator)
    stops = tuple(operator.merged(Token(UNKNOWN, stop)).stop for stop in range(node.inputs[0].rank + 1))
    kind = HoldingFlatten if operator.holds(node.input_types[0]) else Flatten
    return Declared(kind, {"low": operator.low, "high": operator.high, "stops": stops})
