"""Traffic of a run between the fabric and off-chip memory.

Memory counts the beats that pass at each port. The last one of a tile may be filled in part, as the next tile starts on
a beat of its own. So bytes are those of the tiles, as the symbolic metric counts them, and beats what the bus carried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from step.language.types import Tile
from step.lowering.netlist import Netlist
from step.lowering.off_chip import MemoryConfig
from step.running.result import TrafficResult


def traffic(netlist: Netlist, beats: Sequence[int]) -> dict[str, TrafficResult]:
    """By operator at off-chip memory, what it moved.

    ``beats`` passed at its ports: those that read first, then those that write, each in the order of the units.
    """
    counts: dict[str, list[int]] = {}
    for (name, writes, tile), count in zip(_ports(netlist), beats, strict=True):
        counts.setdefault(name, [0, 0, 0])[writes] += tile_bytes(tile, count, netlist.fabric.memory)
        counts[name][2] += count
    return {node.name: TrafficResult(*counts[node.name]) for node in netlist.units if node.name in counts}


def tile_bytes(tile: Tile, beats: int, memory: MemoryConfig) -> int:
    """Bytes of so many ``beats`` of tiles, one after the other; of a tile that was cut off, its whole scalars."""
    tiles, rest = divmod(beats, memory.beats(tile.bits))
    scalars = int(tile.elements)
    begun = min(rest * 8 * memory.beat_bytes // tile.dtype.bits, scalars)
    return (tiles * scalars + begun) * tile.dtype.bytes


def _ports(netlist: Netlist) -> Iterator[tuple[str, bool, Tile]]:
    """Memory ports: the operator of each, whether it writes, and its tiles."""
    for writes in (False, True):
        for node in netlist.units:
            access = node.operator.writes(node) if writes else node.operator.reads(node)
            if access is not None:
                yield node.name, writes, access.tile
