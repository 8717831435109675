"""RandomOffChipStore: writes the beats of a tile at its address, and says when they are visible."""

from __future__ import annotations

from collections.abc import MutableSequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim_approx.machine import COMPUTES, ENDS, Machine, fault, need_all, put, room, take
from sim_approx.off_chip import WRITE_DEPTH, deliver
from sim_approx.site import Site
from step.language.faults import Fault, aligned
from step.language.tokens import UNKNOWN, Token
from step.ops.random_off_chip_store import RandomOffChipStore as Operator

ADDRESS, DATA = 0, 1
WRITE, PENDING = 0, 1

ACKNOWLEDGED = np.ones((1, 1), np.bool_)


class Contents:
    """The tiles of a tensor; they change by what is appended."""

    def __init__(self, tiles: MutableSequence[Any]) -> None:
        self._tiles = tiles

    def append(self, written: tuple[int, Any]) -> None:
        """A tile at an address; what is not known leaves the old one there."""
        address, tile = written
        if tile is not UNKNOWN:
            self._tiles[address] = tile


@dataclass(slots=True, eq=False, kw_only=True)
class RandomWrite(Machine):
    """One beat per firing, which goes on when all its words are there.

    ``tiles`` of ``beats`` lie from beat ``base`` on; ``contents`` are their values. Word: ``beat`` of the tile.
    """

    base: int
    beats: int
    tiles: int
    contents: Contents
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
        address = int(x.value[0, 0])
        if address >= self.tiles:
            fault(Fault.OUT_OF_RANGE)
        last = self.beat == self.beats - 1
        room(self.outputs[WRITE])
        if last:
            room(self.outputs[PENDING])
        put(self.outputs[WRITE], Token(self.base + address * self.beats + self.beat))
        if last:
            take(self.inputs[ADDRESS])
            take(self.inputs[DATA])
            put(self.outputs[PENDING], Token(ACKNOWLEDGED, x.stop))
            self.contents.append((address, tokens[DATA].value))
        self.beat = 0 if last else self.beat + 1
        return COMPUTES


def build(site: Site) -> Machine:
    operator = site.node.operator
    assert isinstance(operator, Operator)
    region = site.memory_map.stores[site.node.name]
    words = site.words_of_beat(DATA)
    writes = site.channel(WRITE_DEPTH + 1)  # a beat is on its way, and what it is to be acknowledged with
    pending, visible = site.channel(site.fabric.outstanding + 1), site.channel(site.fabric.outstanding + 1)
    site.memory.write_port(writes, visible, region.beats_per_tile)
    site.add(
        RandomWrite(
            inputs=site.inputs,
            outputs=(writes, pending),
            latency=words,
            interval=words,
            base=region.base,
            beats=region.beats_per_tile,
            tiles=operator.tiling.count,
            contents=Contents(site.tiles()),
        )
    )
    return deliver(site, pending, visible)
