"""Where tensors lie in off-chip memory.

Addresses are in beats. Every load has a region of its own with its tensor cut into that load's tiles, one after the
other, each starting on a beat; stores follow. Regions start at a multiple of the number of memory channels, so
that tile 0 always is on channel 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.ops.linear_off_chip_load import LinearOffChipLoad
from step.ops.linear_off_chip_store import LinearOffChipStore

DYNAMIC_STORE_TILES = 1 << 14
"""Room of a store whose number of tiles is only known at run time."""


@dataclass(frozen=True)
class Region:
    """Memory of one load or store: ``base`` and ``beats_per_tile`` in beats, ``tiles`` in tiles."""

    node: str
    base: int
    beats_per_tile: int
    tiles: int

    @property
    def beats(self) -> int:
        return self.beats_per_tile * self.tiles


@dataclass(frozen=True)
class MemoryMap:
    """The regions of a program, by node name, and the size of all together in beats."""

    loads: dict[str, Region]
    stores: dict[str, Region]
    beats: int


def memory_map(netlist: Netlist) -> MemoryMap:
    """Lay out the off-chip memory of ``netlist``: loads first, then stores, each in unit order."""
    memory = netlist.fabric.memory
    loads: dict[str, Region] = {}
    stores: dict[str, Region] = {}
    end = 0

    def place(node: Node, bits: int, tiles: int) -> Region:
        nonlocal end
        region = Region(node.name, end, memory.beats(bits), tiles)
        end += -(-region.beats // memory.channels) * memory.channels
        return region

    for node in netlist.units:
        if isinstance(node.operator, LinearOffChipLoad):
            loads[node.name] = place(node, node.operator.element.bits, int(np.prod(node.operator.tiled, dtype=int)))
    for node in netlist.units:
        if isinstance(node.operator, LinearOffChipStore):
            count = node.inputs[0].type.count
            tiles = int(count) if count.is_Integer else DYNAMIC_STORE_TILES
            stores[node.name] = place(node, node.inputs[0].element.bits, tiles)
    return MemoryMap(loads, stores, end)
