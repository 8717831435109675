"""RandomOffChipStore: writes the beats of a tile at its address, and says when they are visible."""

from __future__ import annotations

from collections.abc import MutableSequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim_approx.engine.words import write
from sim_approx.memory.off_chip import deliver, stored_alike
from sim_approx.placing.site import UnitSite
from step.firing.machine import COMPUTES, ENDS, Machine
from step.firing.words import fault, need_all, number, put, room, take
from step.language.faults import Fault, aligned, rows_of
from step.language.tokens import Token
from step.lowering.links import INSIDE
from step.ops.random_off_chip_store import RandomOffChipStore as Operator

ADDRESS, DATA = 0, 1
WRITE, PENDING = 0, 1

ACKNOWLEDGED = np.ones((1, 1), np.bool_)


@dataclass(slots=True, eq=False, kw_only=True)
class RandomWrite(Machine):
    """One beat per firing, which goes on when all its words are there.

    ``tiles`` (values) of ``beats`` lie from beat ``base`` on; those of dynamic size have to have ``rows``, if there are
    any. Word: ``beat`` of the tile.
    """

    base: int
    beats: int
    tiles: MutableSequence[Any]
    rows: int
    beat: int = 0

    def fire(self) -> int | None:
        tokens = need_all(self.inputs)
        x = aligned(*tokens)
        if not x.has_value:
            room(self.outputs[PENDING])
            take(self.inputs[ADDRESS])
            take(self.inputs[DATA])
            put(self.outputs[PENDING], x)
            return ENDS if x.done else None
        address = number(x.value)
        if address >= len(self.tiles):
            fault(Fault.OUT_OF_RANGE)
        if self.rows and rows_of(tokens[DATA].value) != self.rows:
            fault(Fault.ROWS_DO_NOT_FILL)
        last = self.beat == self.beats - 1
        room(self.outputs[WRITE])
        if last:
            room(self.outputs[PENDING])
        put(self.outputs[WRITE], Token(self.base + address * self.beats + self.beat))
        if last:
            take(self.inputs[ADDRESS])
            take(self.inputs[DATA])
            put(self.outputs[PENDING], Token(ACKNOWLEDGED, x.stop))
            write(self.tiles, address, tokens[DATA].value)
        self.beat = 0 if last else self.beat + 1
        return COMPUTES


def build(site: UnitSite) -> Machine:
    operator = site.node.operator_as(Operator)
    region = site.memory_map.stores[site.node.name]
    words = site.words_of_beat(DATA)
    writes = site.channel(INSIDE + 1)  # a beat is on its way, and what it is to be acknowledged with
    pending, visible = site.channel(site.fabric.outstanding + 1), site.channel(site.fabric.outstanding + 1)
    site.memory.write(writes, visible, region.beats_per_tile)
    site.add(
        RandomWrite(
            inputs=site.inputs,
            outputs=(writes, pending),
            latency=words,
            interval=words,
            base=region.base,
            beats=region.beats_per_tile,
            tiles=site.tiles(),
            rows=operator.tile[0] if DATA in site.tiled else 0,
        )
    )
    return deliver(site, pending, visible)


sizes = stored_alike
