"""RandomOffChipLoad: a request for every address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sim_approx.memory.off_chip import PENDING, REQUEST, load
from sim_approx.placing.site import UnitSite
from step.firing.machine import ENDS, Machine
from step.firing.words import fault, need, number, put, room, take
from step.language.faults import Fault
from step.language.tokens import Token


@dataclass(slots=True, eq=False, kw_only=True)
class RandomIssue(Machine):
    """``tiles`` (values) lie from beat ``base`` on, each has ``beats``."""

    base: int
    beats: int
    tiles: Sequence[Any]

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        if not x.has_value:
            room(self.outputs[PENDING])
            take(self.inputs[0])
            put(self.outputs[PENDING], x)
            return ENDS if x.done else None
        address = number(x.value)
        if address >= len(self.tiles):
            fault(Fault.OUT_OF_RANGE)
        room(self.outputs[REQUEST])
        room(self.outputs[PENDING])
        take(self.inputs[0])
        put(self.outputs[REQUEST], Token(self.base + address * self.beats))
        put(self.outputs[PENDING], Token(self.tiles[address], x.stop))
        return None


def build(site: UnitSite) -> Machine:
    region = site.memory_map.loads[site.node.name]
    return load(site, RandomIssue, base=region.base, beats=region.beats_per_tile)
