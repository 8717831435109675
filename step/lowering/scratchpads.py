"""Which buffers share which on-chip memory, and how their tiles lie in its pages.

A *share* is what fills buffers, with what reads them. Shares are dealt out in the order of the program, by turns: what
stands side by side there, as the operands of a product, is used together, and lies in different scratchpads. All
shares of a scratchpad draw on the same pages, of which a buffer takes as many as it comes to need.
"""

from __future__ import annotations

from dataclasses import dataclass

from step.language.graph import Node
from step.language.types import Buffer
from step.lowering.netlist import Netlist, kept

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
    pages, page_words = fabric.scratchpad_bytes // fabric.page_bytes, -(-fabric.page_bytes // fabric.link_bytes)
    shares = []
    for node in netlist.units:
        if not node.operator.fills_buffers:
            continue
        (references,), (data,) = netlist.outputs(node), netlist.inputs(node)
        if references is None:
            continue
        beats = netlist.beats(data) if data.carries and not data.type.element.is_control else 0
        slots = 1 << (max(1, page_words // max(1, beats)).bit_length() - 1)
        shares.append(Share(node, netlist.graph.nodes[references.consumer[0]], beats, slots, pages))
    count = -(-len(shares) // fabric.scratchpad_ports)
    return tuple(
        Scratchpad(index, tuple(shares[index::count]), pages, page_words, fabric.scratchpad_banks)
        for index in range(count)
    )
