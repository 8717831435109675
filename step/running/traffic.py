"""Traffic of a run between the fabric and off-chip memory.

Memory counts the beats that pass at each port. The last one of a tile may be filled in part, as the next tile starts on
a beat of its own. So bytes are those of the tiles, as the symbolic metric counts them, and beats what the bus carried.
"""

from __future__ import annotations

from collections.abc import Sequence

from step.language.tiling import accesses
from step.language.types import Tile
from step.lowering.netlist import Netlist
from step.lowering.off_chip import MemoryConfig
from step.running.result import TrafficResult


def traffic(netlist: Netlist, beats: Sequence[int]) -> dict[str, TrafficResult]:
    """By operator at off-chip memory, what it moved.

    ``beats`` passed at its ports: those that read first, then those that write, each in the order of the units.
    """
    counts: dict[str, list[int]] = {}
    ports = ((writes, *each) for writes in (False, True) for each in accesses(netlist.units, writes=writes))
    for (writes, node, access), count in zip(ports, beats, strict=True):
        counts.setdefault(node.name, [0, 0, 0])[writes] += tile_bytes(access.tile, count, netlist.fabric.memory)
        counts[node.name][2] += count
    return {node.name: TrafficResult(*counts[node.name]) for node in netlist.units if node.name in counts}


def tile_bytes(tile: Tile, beats: int, memory: MemoryConfig) -> int:
    """Bytes of so many ``beats`` of tiles, one after the other; of a tile that was cut off, its whole scalars."""
    tiles, rest = divmod(beats, memory.beats(tile.bits))
    scalars = int(tile.elements)
    begun = min(rest * 8 * memory.beat_bytes // tile.dtype.bits, scalars)
    return (tiles * scalars + begun) * tile.dtype.bytes
