"""Where data lies: tensors in off-chip memory, and buffers on chip.

Off-chip addresses are in beats. Every operator that reads has a region of its own with its tensor cut into its tiles,
one after the other, each starting on a beat; those that write follow. A declared tensor that is written has one region,
which all that read or write it share. Regions start at a multiple of `ALIGNMENT`, so that tile 0 is on channel 0, and
the hardware is the same for memories with other channels: addresses are all that it knows of them.

On chip, a *share* is what fills buffers, with what reads them. Shares are dealt out in the order of the program, by
turns: what stands side by side there, as the operands of a product, is used together, and lies in different
scratchpads. All shares of a scratchpad have words of the same width, and draw on the same pages, of which a buffer
takes as many as it comes to need.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from step.language.graph import Node
from step.language.operator import Access
from step.language.tiling import stored
from step.language.types import Buffer
from step.lowering.netlist import Netlist, kept
from step.lowering.off_chip import MemoryConfig

ALIGNMENT = 64
"""Beats; more where there are more channels times interleaved beats."""

DYNAMIC_TILES = 1 << 14
"""Room where the number of tiles is only known at run time."""


@dataclass(frozen=True)
class Region:
    """Memory that one operator reads or writes: ``base`` and ``beats_per_tile`` in beats, ``tiles`` in tiles."""

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


def alignment(memory: MemoryConfig) -> int:
    """Regions start at a multiple of so many beats."""
    return max(ALIGNMENT, memory.channels * memory.interleave)


def same_addresses(one: MemoryConfig, other: MemoryConfig) -> bool:
    """Whether programs have the same beats at the same addresses in both memories."""
    return one.beat_bytes == other.beat_bytes and alignment(one) == alignment(other)


@kept
def memory_map(netlist: Netlist) -> MemoryMap:
    """Lay out the off-chip memory of ``netlist``: what is read first, then what is written, each in unit order."""
    memory = netlist.fabric.memory
    end, start = 0, alignment(memory)
    shared: dict[str, Region | None] = dict.fromkeys(stored(netlist.graph))

    def place(accesses: Iterator[tuple[str, Access | None]]) -> dict[str, Region]:
        nonlocal end
        regions = {}
        for name, access in accesses:
            if access is None:
                continue
            if (placed := shared.get(access.tensor or "")) is not None:
                regions[name] = replace(placed, node=name)
                continue
            tiles = DYNAMIC_TILES if access.tiles is None else access.tiles
            regions[name] = Region(name, end, memory.beats(access.tile.bits), tiles)
            end += -(-regions[name].beats // start) * start
            if access.tensor in shared:
                shared[access.tensor] = regions[name]
        return regions

    loads = place((node.name, node.operator.reads(node)) for node in netlist.units)
    stores = place((node.name, node.operator.writes(node)) for node in netlist.units)
    return MemoryMap(loads, stores, end)


IN_FLIGHT = 2
"""Buffers of a share that are there at a time: one is filled while the other one is read."""


@dataclass(frozen=True, eq=False)
class Share:
    """The buffers between ``filler`` and ``reader``.

    A tile takes ``beats`` words (0: values are control, or nobody needs them, and only headers are kept); ``slots``
    tokens lie in a page, a power of two; a scratchpad has ``pages``.
    """

    filler: Node
    reader: Node
    beats: int
    slots: int
    pages: int

    @property
    def buffer(self) -> Buffer:
        element = self.filler.output_types[0].element
        assert isinstance(element, Buffer)
        return element


@dataclass(frozen=True, eq=False)
class Scratchpad:
    """An on-chip memory of ``pages`` of ``page_words`` words each; consecutive words are in consecutive ``banks``."""

    index: int
    shares: tuple[Share, ...]
    pages: int
    page_words: int
    banks: int


@kept
def scratchpads(netlist: Netlist) -> tuple[Scratchpad, ...]:
    """The on-chip memories of ``netlist``; as few as their ports allow."""
    fabric = netlist.fabric
    pages = fabric.scratchpad_bytes // fabric.page_bytes
    shares: dict[int, list[Share]] = {}
    for node in netlist.units:
        if not node.operator.fills_buffers:
            continue
        (references,), (data,) = netlist.outputs(node), netlist.inputs(node)
        if references is None:
            continue
        link = netlist.links[node.name]
        page_words = -(-fabric.page_bytes // link)
        beats = netlist.beats(data, node.name) if data.carries and not data.type.element.is_control else 0
        slots = 1 << (max(1, page_words // max(1, beats)).bit_length() - 1)
        share = Share(node, netlist.graph.nodes[references.consumer[0]], beats, slots, pages)
        shares.setdefault(link, []).append(share)
    found: list[Scratchpad] = []
    for link, alike in shares.items():
        count, page_words = -(-len(alike) // fabric.scratchpad_ports), -(-fabric.page_bytes // link)
        found += [
            Scratchpad(len(found) + at, tuple(alike[at::count]), pages, page_words, fabric.scratchpad_banks)
            for at in range(count)
        ]
    return tuple(found)
