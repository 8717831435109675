"""A program's input data as the simulation hardware wants it: transfers and a memory image."""

from __future__ import annotations

from hw.links.layout import output_formats
from hw.links.packing import pack_tiles, pack_transfers
from step.errors import FabricError
from step.language.tiling import accessed
from step.lowering.memory import memory_map
from step.lowering.netlist import Netlist
from step.programs.data.inputs import BoundInputs

MOST_BYTES = (1 << 31) - 1
"""Of the memory in ``sim_memory.sv``, which counts them with an ``int``."""


def source_transfers(netlist: Netlist, data: BoundInputs) -> dict[str, list[int]]:
    """The transfers of every source."""
    return {
        node.name: [
            transfer
            for token in data.streams[node.name]
            for transfer in pack_transfers(token, node.output_types[0].element, *output_formats(node, netlist))
        ]
        for node in netlist.units
        if node.operator.given() is not None
    }


def check_memory(netlist: Netlist) -> None:
    """Raise `FabricError` for more off-chip memory than the bench holds, or than addresses of its buses reach."""
    memory = netlist.fabric.memory
    size, bus = memory_map(netlist).beats * memory.beat_bytes, memory.bus
    what = f"program {netlist.graph.name!r} takes {size:,} bytes of off-chip memory"
    if size > MOST_BYTES:
        raise FabricError(
            f"{what}, more than the {MOST_BYTES:,} that a simulation of the RTL holds; take smaller tensors, or the "
            "fast model"
        )
    if bus is not None and size > 1 << bus.address_bits:
        raise FabricError(
            f"{what} in a simulation of the RTL, more than bus.address_bits = {bus.address_bits} reach; give more"
        )


def memory_image(netlist: Netlist, data: BoundInputs) -> bytes:
    """Off-chip memory before a run: the declared tensors in their regions; raises what `check_memory` raises."""
    check_memory(netlist)
    layout = memory_map(netlist)
    beat = netlist.fabric.memory.beat_bytes
    image = bytearray(layout.beats * beat)
    for node in netlist.units:
        access = accessed(node)
        if access is not None and access.tensor is not None:
            start = (layout.loads.get(node.name) or layout.stores[node.name]).base * beat
            packed = pack_tiles(data.tiles(access.tensor, access.tile.shape), access.tile, beat)
            image[start : start + len(packed)] = packed
    return bytes(image)
