"""Memories on chip, and who shares them.

A *share* is what fills buffers, with what reads them. Shares are dealt out in the order of the program, by turns: what
stands side by side there, as the operands of a product, is used together, and lies in different scratchpads. All shares
of a scratchpad have words of the same width, and draw on the same pages, of which a buffer takes as many as it comes to
need. Off-chip memory is laid out in `step.lowering.regions`.
"""

from __future__ import annotations

from dataclasses import dataclass

from step.language.graph import Node
from step.language.types import Buffer
from step.lowering.netlist import Netlist, derived
from step.lowering.regions import MemoryMap as MemoryMap
from step.lowering.regions import regions_of


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
