"""Storage of channels and loads as the hardware has it: rings of headers and of words, queues of tiles."""

from __future__ import annotations

from step.language.graph import Node
from step.language.types import Buffer, ElementType, is_dynamic, with_rows
from step.lowering.links import item_bits, rows_bits, stop_bits
from step.lowering.netlist import Channel, Netlist
from step.lowering.plans.rows import word_bits


def slot_bits(netlist: Netlist, each: Channel) -> int:
    """Bits of a slot of a channel: a header, and places for the words of a value.

    Of a tile of dynamic size these are the words of as many rows as there is room for.
    """
    return header_bits(netlist, each) + netlist.places(each) * word_width(netlist, each, max(netlist.widths(each)))


def header_bits(netlist: Netlist, each: Channel) -> int:
    """Bits of a header: Done, value, stop and rank, with the control and the rows that it carries."""
    bits = 2 + 2 * stop_bits(each.type.rank)
    element = data(netlist, each)
    if is_dynamic(each.element):
        bits += rows_bits(netlist.fabric.dynamic_rows)
    return bits + (element.bits if element is not None and each.is_control else 0)


def word_width(netlist: Netlist, each: Channel, link: int) -> int:
    """Bits of a word on a link of so many bytes; 0 where none follow a header."""
    element = data(netlist, each)
    return 0 if element is None or each.is_control else word_bits(item_bits(element), 8 * link)


def data(netlist: Netlist, each: Channel) -> ElementType | None:
    """Element that travels, with the most rows; None for a buffer, whose header is all of it."""
    if each.element is None or isinstance(each.element, Buffer):
        return None
    return with_rows(each.element, netlist.fabric.dynamic_rows)


def queued_tiles(outstanding: int, words: int) -> int:
    """Tiles for which the queue of a load has places: those ``outstanding``, and one that is still read in ``words``.

    The second word of a tile is read before the first beat of a request for its slot can be there.
    """
    return outstanding + (words > 2)


def load_bytes(netlist: Netlist, node: Node) -> int:
    """Bytes of the values for which the queue of the load ``node`` has places; 0 of other operators, and where nobody
    needs the values."""
    channels = netlist.outputs(node)
    if node.operator.reads(node) is None or not channels or channels[0] is None or channels[0].element is None:
        return 0
    tiles = queued_tiles(netlist.fabric.outstanding, netlist.words(channels[0], node.name))
    return tiles * with_rows(channels[0].element, netlist.fabric.dynamic_rows).bytes
