"""Broadcast: every token to all outputs, in the cycle in which all of them have space."""

from __future__ import annotations

from dataclasses import dataclass

from sim_approx.machine import COMPUTES, ENDS, Machine, need, put, room, take
from sim_approx.site import Site
from sim_approx.sized import passing


@dataclass(slots=True, eq=False, kw_only=True)
class Broadcast(Machine):
    """The slowest reader sets the pace."""

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        for each in self.outputs:
            room(each)
        take(self.inputs[0])
        for each in self.outputs:
            put(each, x)
        if x.has_value:
            return COMPUTES
        return ENDS if x.done else None


def build(site: Site) -> Machine:
    return site.add(Broadcast(**site.ports(), interval=site.beats))


sizes = passing
