"""Scan: every state of a reduction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from step.firing.declared import TILED, Applied, Declared
from step.firing.machine import COMPUTES, ENDS, Machine
from step.firing.words import fault, need_all, put, room, take, values
from step.language.faults import Fault, aligned, rows_of, same_rows
from step.language.graph import Node
from step.language.tokens import Token
from step.ops.scan import Scan as Operator


@dataclass(slots=True, eq=False, kw_only=True)
class Scan(Machine):
    """Sends the state after every element, or with ``exclusive`` the one before it; stops of ``rank`` or more reset it.

    Elements at the inputs ``tiled`` are of dynamic size; those of a reduction have as many rows, as the state has.

    Words: ``state`` (value), which counts but where a reduction ``begins``.
    """

    rank: int
    exclusive: bool
    update: Callable[..., Any]
    initial: Any
    tiled: tuple[int, ...]
    state: Any = None
    begins: bool = True

    def fire(self) -> int | None:
        tokens = need_all(self.inputs)
        x = aligned(*tokens)
        same_rows(tokens, self.tiled)
        goes_on = x.has_value and not self.begins
        if goes_on and self.tiled and rows_of(tokens[self.tiled[0]].value) != rows_of(self.state):
            fault(Fault.STOPS_DISAGREE)
        room(self.outputs[0])
        for each in self.inputs:
            take(each)
        before = self.initial if self.begins else self.state
        if x.has_value or x.stop >= self.rank:
            self.begins = x.stop >= self.rank
        if x.has_value:
            self.state = self.update(before, *values(tokens))
            put(self.outputs[0], Token(before if self.exclusive else self.state, x.stop))
            return COMPUTES
        put(self.outputs[0], x)
        return ENDS if x.done else None


def rule(node: Node) -> Declared:
    """The firing rule of ``node``."""
    operator = node.operator_as(Operator)
    given = {"rank": operator.rank, "exclusive": operator.exclusive, "tiled": TILED}
    initial = operator.function.initial(node.output_types[0].element)
    return Declared(Scan, {**given, "update": Applied.to_state(node), "initial": initial})
