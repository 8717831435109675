"""Memories of a program: regions of tensors off chip, scratchpads on chip, and who shares them.

Addresses off chip are in beats. Every operator that reads has a region of its own with its tensor cut into its tiles,
one after the other, each starting on a beat; those that write follow. A declared tensor that is written has one region,
which all that read or write it share. Regions start at a multiple of `ALIGNMENT`, so that tile 0 is on channel 0, and
the hardware is the same for memories with other channels: addresses are all that it knows of them. With an interleave
of several beats they start on one channel after the other, by turns: so what is read side by side, in step, as weights
are, does not meet in a channel.

A *share* of a scratchpad is what fills buffers, with what reads them. Shares are dealt out in the order of the program,
by turns: what stands side by side there, as the operands of a product, is used together, and lies in different
scratchpads. All shares of a scratchpad have words of the same width, and draw on the same pages, of which a buffer
takes as many as it comes to need.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count

from step.errors import FabricError
from step.language.graph import Graph, Node
from step.language.tiling import accesses, stored
from step.language.types import Buffer
from step.lowering.netlist import Netlist, derived
from step.lowering.off_chip import MemoryConfig

ALIGNMENT = 64
"""Beats; more where there are more channels times interleaved beats."""

DYNAMIC_TILES = 1 << 14
"""Room where the number of tiles is only known at run time."""

ADDRESS_BITS = 32
"""Of the number of a beat, in hardware and its simulation."""


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

    @property
    def end(self) -> int:
        """The beat behind it."""
        return self.base + self.beats


@dataclass(frozen=True)
class MemoryMap:
    """The regions of a program, by node name, and the size of all together in beats."""

    loads: dict[str, Region]
    stores: dict[str, Region]
    beats: int

    @property
    def regions(self) -> Iterator[Region]:
        """All, in the order of their addresses; of a tensor that several operators share, one for each."""
        yield from sorted((*self.loads.values(), *self.stores.values()), key=lambda each: each.base)


def _starts(memory: MemoryConfig) -> tuple[int, ...]:
    """Beats that regions start at: a multiple of the first, and behind it, by turns, so many steps of so many beats."""
    multiple = max(ALIGNMENT, memory.channels * memory.interleave)
    return (multiple, memory.channels, memory.interleave) if memory.interleave > 1 else (multiple, 1, 0)


def same_addresses(one: MemoryConfig, other: MemoryConfig) -> bool:
    """Whether programs have the same beats at the same addresses in both memories."""
    return one.beat_bytes == other.beat_bytes and _starts(one) == _starts(other)


def regions_of(graph: Graph, memory: MemoryConfig) -> MemoryMap:
    """Lay out the off-chip ``memory`` of ``graph``: what is read first, then what is written, each in its order.

    Raises `FabricError` for the first region with a beat that has no address.
    """
    layout = _laid_out(graph, memory)
    for region in layout.regions:
        if region.end > 1 << ADDRESS_BITS:
            raise _beyond(region, graph, memory)
    return layout


def _laid_out(graph: Graph, memory: MemoryConfig) -> MemoryMap:
    end, (multiple, turns, step) = 0, _starts(memory)
    turn, written = count(), stored(graph)
    shared, loads, stores = dict[str, Region](), dict[str, Region](), dict[str, Region]()
    for regions, writes in ((loads, False), (stores, True)):
        for node, access in accesses(graph, writes=writes):
            region = shared.get(access.tensor or "")
            if region is None:
                tiles = DYNAMIC_TILES if access.tiles is None else access.tiles
                beats = memory.beats(access.tile.bits) if access.tile.is_static else 0  # which no fabric stores
                region = Region(node.name, end + next(turn) % turns * step, beats, tiles)
                end = -(-region.end // multiple) * multiple
                if access.tensor in written:
                    shared[access.tensor] = region
            regions[node.name] = replace(region, node=node.name)
    return MemoryMap(loads, stores, end)


def _beyond(region: Region, graph: Graph, memory: MemoryConfig) -> FabricError:
    node, most = graph.nodes[region.node], 1 << ADDRESS_BITS
    access = node.operator.reads(node) or node.operator.writes(node)
    what = f"tensor {access.tensor!r}" if access is not None and access.tensor is not None else "what it stores"
    wider = _wide_enough(graph, memory)
    tiles = "choose larger tiles, as each begins on a beat of its own, or smaller tensors"
    mend = f"choose a fabric with memory.beat_bytes={wider}" if wider else tiles
    return FabricError(
        f"{node.describe()}: {what} lies in the beats {region.base:,} to {region.end - 1:,} of off-chip memory, of "
        f"{memory.beat_bytes} bytes each, but addresses have {ADDRESS_BITS} bits and end at beat {most - 1:,}; {mend}"
    )


def _wide_enough(graph: Graph, memory: MemoryConfig) -> int:
    """Bytes of a beat with which all of ``graph`` has addresses; 0: there are none in such a ``memory``."""
    with suppress(FabricError):  # there are no wider beats
        while True:
            memory = replace(memory, beat_bytes=2 * memory.beat_bytes)
            if all(each.end <= 1 << ADDRESS_BITS for each in _laid_out(graph, memory).regions):
                return memory.beat_bytes
    return 0


@derived
def memory_map(netlist: Netlist) -> MemoryMap:
    """The regions of ``netlist`` in off-chip memory; raises what `regions_of` raises."""
    return regions_of(netlist.graph, netlist.fabric.memory)


IN_FLIGHT = 2
"""Buffers of a share that are there at a time: one is filled while the other one is read."""


@dataclass(frozen=True, eq=False)
class Share:
    """The buffers between ``filler`` and ``reader``.

    A tile takes ``words`` of its link (0: values are control, or nobody needs them, and only headers are kept).
    ``slots`` tokens lie in a page, a power of two; a scratchpad has ``pages``.
    """

    filler: Node
    reader: Node
    words: int
    slots: int
    pages: int

    @property
    def buffer(self) -> Buffer:
        element = self.filler.output_types[0].element
        assert isinstance(element, Buffer)
        return element


@dataclass(frozen=True, eq=False)
class ScratchpadPlan:
    """An on-chip memory of ``pages`` of ``page_words`` words each; consecutive words are in consecutive ``banks``."""

    index: int
    shares: tuple[Share, ...]
    pages: int
    page_words: int
    banks: int


@derived
def scratchpads(netlist: Netlist) -> tuple[ScratchpadPlan, ...]:
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
        words = netlist.words(data, node.name) if data.carries and not data.type.element.is_control else 0
        slots = 1 << (max(1, page_words // max(1, words)).bit_length() - 1)
        share = Share(node, netlist.graph.nodes[references.consumer[0]], words, slots, pages)
        shares.setdefault(link, []).append(share)
    found: list[ScratchpadPlan] = []
    for link, alike in shares.items():
        count, page_words = -(-len(alike) // fabric.scratchpad_ports), -(-fabric.page_bytes // link)
        found += [
            ScratchpadPlan(len(found) + at, tuple(alike[at::count]), pages, page_words, fabric.scratchpad_banks)
            for at in range(count)
        ]
    return tuple(found)
