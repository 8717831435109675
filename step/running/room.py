"""Stores of any number of tiles, whose regions of off-chip memory have room for so many."""

from __future__ import annotations

from collections.abc import Mapping

from step.errors import StreamFault
from step.language.graph import Node
from step.lowering.memory import memory_map
from step.lowering.netlist import Netlist
from step.lowering.regions import DYNAMIC_TILES
from step.running.result import TrafficResult


def overflow(netlist: Netlist, traffic: Mapping[str, TrafficResult]) -> StreamFault | None:
    """The fault of the first store that wrote more tiles than there is room for; None: all had room."""
    for name, region in memory_map(netlist).stores.items():
        node = netlist.graph.nodes[name]
        access = node.operator.writes(node)
        if access is not None and access.tiles is None and traffic[name].beats > region.beats:
            return no_room(node, traffic[name].beats // region.beats_per_tile)
    return None


def no_room(node: Node, tiles: int) -> StreamFault:
    """The fault of the store ``node``, which wrote so many ``tiles``."""
    return StreamFault(
        f"{node.describe()}: it wrote {tiles:,} tiles, but a store whose number of tiles only a run tells has room for "
        f"{DYNAMIC_TILES:,} in off-chip memory: declare the extents with assume_shape, or end the stream with sink"
    )
