"""Zip: aligned streams side by side."""

from __future__ import annotations

from dataclasses import dataclass

from sim_approx.machine import ENDS, Machine, need_all, put, room, take
from sim_approx.site import Site
from step.language.faults import aligned
from step.language.tokens import Token


@dataclass(slots=True, eq=False, kw_only=True)
class Zip(Machine):
    """Wires only: one token a cycle."""

    def fire(self) -> int | None:
        tokens = need_all(self.inputs)
        x = aligned(*tokens)
        room(self.outputs[0])
        for each in self.inputs:
            take(each)
        put(self.outputs[0], Token(tuple([each.value for each in tokens]), x.stop) if x.has_value else x)
        return ENDS if x.done else None


def build(site: Site) -> Machine:
    return site.add(Zip(**site.ports()))
