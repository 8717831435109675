"""Promote: one more dimension around the whole stream."""

from __future__ import annotations

from dataclasses import dataclass

from step.firing.declared import Declared
from step.firing.machine import COMPUTES, ENDS, Machine
from step.firing.words import need, put, room, take
from step.language.graph import Node
from step.language.tokens import Token


@dataclass(slots=True, eq=False, kw_only=True)
class Promote(Machine):
    """Every token waits for the next one; the last one gets the stop ``top``. Word: ``held``, the token that waits."""

    top: int
    held: Token | None = None

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        if self.held is not None or x.done:
            room(self.outputs[0])
        if not x.done:
            held = self.held
            if held is not None:
                put(self.outputs[0], held)
            take(self.inputs[0])
            self.held = x
            return COMPUTES if held is not None and held.has_value else None
        if self.held is not None:
            held = self.held
            put(self.outputs[0], Token(held.value, self.top, held.rank))
            self.held = None
            return COMPUTES if held.has_value else None
        take(self.inputs[0])
        put(self.outputs[0], x)
        return ENDS


def rule(node: Node) -> Declared:
    """The firing rule of ``node``."""
    return Declared(Promote, {"top": node.inputs[0].rank + 1})
