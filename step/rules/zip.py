"""Zip: aligned streams side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from step.firing.declared import Declared
from step.firing.machine import COMPUTES, ENDS, Machine
from step.firing.words import need_all, put, room, side_by_side, take, values
from step.language.faults import aligned
from step.language.graph import Node
from step.language.tokens import Token


@dataclass(slots=True, eq=False, kw_only=True)
class Zip(Machine):
    """The items of a tuple leave one after the other."""

    pair: Callable[..., Any]

    def fire(self) -> int | None:
        tokens = need_all(self.inputs)
        x = aligned(*tokens)
        room(self.outputs[0])
        for each in self.inputs:
            take(each)
        if x.has_value:
            put(self.outputs[0], Token(self.pair(*values(tokens)), x.stop))
            return COMPUTES
        put(self.outputs[0], x)
        return ENDS if x.done else None


def rule(node: Node) -> Declared:
    """What ``node`` fires by."""
    return Declared(Zip, {"pair": side_by_side})
