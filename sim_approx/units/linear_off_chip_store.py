"""LinearOffChipStore: writes tiles to memory beat by beat."""

from __future__ import annotations

from dataclasses import dataclass, field

from sim_approx.memory.off_chip import stored_alike
from sim_approx.placing.site import UnitSite
from step.firing.machine import COMPUTES, ENDS, Counter, Machine
from step.firing.words import fault, need, put, room, take
from step.language.faults import Fault, rows_of
from step.language.tokens import Token
from step.lowering.links import INSIDE
from step.ops.linear_off_chip_store import LinearOffChipStore as Operator


@dataclass(slots=True, eq=False, kw_only=True)
class Store(Machine):
    """One beat per firing, which goes on when all its words are there.

    Tiles of dynamic size have to have ``rows``, if there are any. Words: ``beat`` of the tile, ``address`` of the next
    beat; ``collected`` are the tiles.
    """

    counter = Counter("address", to=0)

    beats: int
    rows: int
    address: int
    beat: int = 0
    collected: list[Token] = field(default_factory=list)

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        if not x.has_value:
            take(self.inputs[0])
            if x.done:
                return ENDS
            self.collected.append(x)
            return None
        if self.rows and rows_of(x.value) != self.rows:
            fault(Fault.ROWS_DO_NOT_FILL)
        room(self.outputs[0])
        put(self.outputs[0], Token(self.address))
        self.address += 1
        last = self.beat == self.beats - 1
        if last:
            take(self.inputs[0])
            self.collected.append(x)
        self.beat = 0 if last else self.beat + 1
        return COMPUTES


def build(site: UnitSite) -> Machine:
    operator = site.node.operator_as(Operator)
    region = site.memory_map.stores[site.node.name]
    writes = site.channel(INSIDE)
    site.memory.write(writes)
    words = site.words_of_beat(0)
    return site.add(
        Store(
            inputs=site.inputs,
            outputs=(writes,),
            latency=words,
            interval=words,
            beats=region.beats_per_tile,
            rows=operator.tile[0] if operator.tile is not None and site.tiled else 0,
            address=region.base,
            collected=site.output(),
        )
    )


sizes = stored_alike
