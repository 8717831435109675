"""PermittedStore: one beat per firing."""

from __future__ import annotations

from dataclasses import dataclass, field

from permit.ops.permitted_store import DATA
from sim_approx.placing.site import UnitSite
from step.firing.machine import COMPUTES, ENDS, Machine
from step.firing.words import need_all, put, room, take
from step.language.faults import aligned
from step.language.tokens import Token
from step.lowering.links import INSIDE


@dataclass(slots=True, eq=False, kw_only=True)
class PermittedStore(Machine):
    """Words: ``beat`` of the tile, ``address`` of the next beat; ``collected`` are the tiles."""

    beats: int
    address: int
    beat: int = 0
    collected: list[Token] = field(default_factory=list)

    def fire(self) -> int | None:
        tokens = need_all(self.inputs)
        x = aligned(*tokens)
        last = not x.has_value or self.beat == self.beats - 1
        if x.has_value:
            room(self.outputs[0])
            put(self.outputs[0], Token(self.address))
            self.address += 1
            self.beat = 0 if last else self.beat + 1
        if last:
            for each in self.inputs:
                take(each)
            if not x.done:
                self.collected.append(tokens[DATA])
        if x.has_value:
            return COMPUTES
        return ENDS if x.done else None


def build(site: UnitSite) -> Machine:
    region = site.memory_map.stores[site.node.name]
    writes = site.channel(INSIDE)
    site.memory.write(writes)
    words = site.words_of_beat(DATA)
    return site.add(
        PermittedStore(
            inputs=site.inputs, outputs=(writes,), latency=words, interval=words, beats=region.beats_per_tile,
            address=region.base, collected=site.output(),
        )
    )  # fmt: skip
