"""Promote: one more dimension around the whole stream."""

from __future__ import annotations

from dataclasses import dataclass

from sim_approx.machine import ENDS, Machine, need, put, room, take
from sim_approx.site import Site
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
            if self.held is not None:
                put(self.outputs[0], self.held)
            take(self.inputs[0])
            self.held = x
            return None
        if self.held is not None:
            put(self.outputs[0], Token(self.held.value, self.top, self.held.rank))
            self.held = None
            return None
        take(self.inputs[0])
        put(self.outputs[0], x)
        return ENDS


def build(site: Site) -> Machine:
    return site.add(Promote(**site.ports(), top=site.node.inputs[0].rank + 1))
