"""The scratchpads of a program: which hardware they are, and who is at which of their ports."""

from __future__ import annotations

from collections.abc import Mapping

from hw.links.layout import input_formats, is_far
from hw.memory.scratchpad import ScratchpadMemory
from hw.memory.share import ShareFormat
from step.language.graph import Node
from step.lowering.memory import ScratchpadPlan, Share, scratchpads
from step.lowering.netlist import Netlist


def share_format(node: Node, netlist: Netlist) -> ShareFormat | None:
    """The buffers that ``node`` fills or reads; None: nobody reads what it fills."""
    for scratchpad in scratchpads(netlist):
        for share in scratchpad.shares:
            if node in (share.filler, share.reader):
                return _format(share, scratchpad, netlist)
    return None


def _format(share: Share, scratchpad: ScratchpadPlan, netlist: Netlist) -> ShareFormat:
    (token,) = input_formats(share.filler, netlist)
    readers = [each.reader for each in scratchpad.shares if each.words]
    order = sorted(readers, key=netlist.units.index)
    turn, control = order.index(share.reader) if share.words else 0, token.bits if token.control else 0
    sizes = len(share.buffer.shape), token.word_bits, share.words, share.slots, share.pages, turn, control
    return ShareFormat(*sizes, *((token.row_bits, token.link_bits, token.rows_bits) if token.most_rows else ()))


def hardware(scratchpad: ScratchpadPlan, netlist: Netlist) -> ScratchpadMemory:
    """The memory of ``scratchpad``."""
    formats = tuple(_format(share, scratchpad, netlist) for share in scratchpad.shares)
    sizes = scratchpad.page_words, scratchpad.banks, netlist.fabric.block_ram_words
    return ScratchpadMemory(formats, *sizes, far=is_far(netlist))


def ports(scratchpad: ScratchpadPlan) -> Mapping[str, str]:
    """For each unit at ``scratchpad``, the port where it is."""
    fillers = {share.filler.name: f"filler{at}" for at, share in enumerate(scratchpad.shares)}
    return fillers | {share.reader.name: f"reader{at}" for at, share in enumerate(scratchpad.shares)}
