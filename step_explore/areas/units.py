"""Amounts of units, channels and scratchpads."""

from __future__ import annotations

from step.language.graph import Node
from step.language.types import is_dynamic, with_rows
from step.lowering.links import slots_in_flight
from step.lowering.memory import ScratchpadPlan
from step.lowering.netlist import Channel, Netlist
from step.lowering.plans import plan_of
from step.lowering.storage import data, header_bits, queued_tiles, word_width
from step.lowering.timing import timing_of
from step_explore.areas import datapaths
from step_explore.areas.amounts import BLOCK_RAM_BITS, Amounts


def unit(netlist: Netlist, node: Node) -> Amounts:
    """The amounts of ``node``: of its rule, by the kind of operator, its datapath, and its side of off-chip memory."""
    found, kind = Amounts(), node.operator.name
    before, behind = netlist.inputs(node), [each for each in netlist.outputs(node) if each is not None]
    link, words = netlist.links[node.name], {each: netlist.words(each, node.name) for each in (*before, *behind)}
    found.one(
        kind,
        headers=sum(header_bits(netlist, each) for each in (*before, *behind)),
        word_bits=sum(word_width(netlist, each, link) for each in before),
        bits=sum(word_width(netlist, each, link) * count for each, count in words.items()),
        ports=len(before) + len(behind) - 2,
        dynamic=any(is_dynamic(each.element) for each in (*before, *behind)),
    )
    if node.operator.function is not None and any(each.carries for each in behind):
        plan = plan_of(node, netlist.at(node))
        for part in plan.parts:
            datapaths.add(part, found)
        if not plan.streams:  # operands are collected as a whole
            waiting = sum(each.element.bits for each in before if each.element and each.element.is_static)
            found.put(f"{kind}.whole_bits", waiting)
    if node.operator.given() is not None and behind and words[behind[0]] > 1:
        found.shallow(word_width(netlist, behind[0], link), words[behind[0]])
    if node.operator.reads(node) is not None and behind:
        _load(found, netlist, node, behind[0])
    elif node.operator.writes(node) is not None:
        found.put("store.beat_bits", 8 * netlist.fabric.memory.beat_bytes)
        found.shallow(32 + 8 * netlist.fabric.memory.beat_bytes, 4)
    return found


def _load(found: Amounts, netlist: Netlist, node: Node, behind: Channel) -> None:
    """The queue of tiles, of which a row is a word of the link or a beat, whichever is wider."""
    fabric = netlist.at(node)
    width = word_width(netlist, behind, fabric.link_bytes)
    element = behind.element
    if element is None or not (width or element.is_control):
        return
    bits = with_rows(element, fabric.dynamic_rows).bits
    width = width or min(bits, 8 * fabric.link_bytes)
    beat, words = 8 * fabric.memory.beat_bytes, -(-bits // width)
    in_row = min(-(-beat // width), words)
    parts = min(-(-width // beat), fabric.memory.beats(bits))
    rows = -(-words // in_row)
    room = queued_tiles(fabric.outstanding, words) * rows
    if fabric.outstanding * words > fabric.block_ram_words:
        found.deep(max(beat, BLOCK_RAM_BITS) if parts > 1 else beat, room, parts)
    else:
        found.shallow(beat, room, parts)
    found.shallow(header_bits(netlist, behind), fabric.outstanding)
    found.put("load.chosen_bits", (in_row - 1) * width)


def channel(netlist: Netlist, each: Channel, waiting: int | None = None) -> Amounts:
    """The amounts of a channel: rings of headers and of words, and registers on the way.

    ``waiting``: slots besides its depth, by default those `in_flight` in front of it.
    """
    waiting = in_flight(netlist, netlist.graph.nodes[each.producer[0]]) if waiting is None else waiting
    found, depth = Amounts(), netlist.slots(each) + waiting
    written, read = (word_width(netlist, each, link) for link in netlist.widths(each))
    found.one("channel", place_bits=(depth - 1).bit_length())
    found.shallow(header_bits(netlist, each), depth)
    if written:
        words = netlist.places(each)
        room = (depth + netlist.spare(each)) * words
        found.put("channel.word_place_bits", (room - 1).bit_length())
        found.put("channel.several_words", words > 1)
        found.put("channel.dynamic", is_dynamic(each.element))
        if read > written:
            _gathered(found, netlist, each, room)
        else:
            found.memory(written, room, deep=netlist.is_deep(each))
        if read < written:
            found.one("dealt", place_bits=(room - 1).bit_length(), chosen_bits=written - read)
    return found


def _gathered(found: Amounts, netlist: Netlist, each: Channel, room: int) -> None:
    """Memories side by side for narrow words that are read as wide ones, and the wait of headers for these."""
    narrow, wide = (word_width(netlist, each, link) for link in netlist.widths(each))
    parts = 1 << (-(-wide // narrow) - 1).bit_length()
    (found.deep if netlist.is_deep(each) else found.shallow)(narrow, room, parts)
    waits = netlist.words(each, each.producer[0]) - netlist.words(each, each.consumer[0])
    place_bits, dynamic = (room - 1).bit_length(), is_dynamic(each.element)
    found.one("gathered", parts=parts, place_bits=place_bits, dynamic=dynamic, wait_bits=waits.bit_length())
    if not dynamic:
        found.shallow(1, waits - 1)


def scratchpad(netlist: Netlist, each: ScratchpadPlan) -> Amounts:
    """The amounts of an on-chip memory: its banks, and what every share of it needs."""
    found, fabric = Amounts(), netlist.fabric
    found.one("scratchpad", shares=len(each.shares))
    width = 0
    for share in each.shares:
        (before,) = netlist.inputs(share.filler)
        word = word_width(netlist, before, netlist.links[share.filler.name]) if share.words else 0
        width = max(width, word)
        found.put("scratchpad.share_bits", word)
        entries = share.pages * share.slots
        header = header_bits(netlist, before)
        found.memory(header, entries, deep=entries > fabric.block_ram_words)
        found.memory((share.pages - 1).bit_length(), share.pages, deep=share.pages > fabric.block_ram_words)
    banks = each.pages * each.page_words // each.banks
    if width:
        found.deep(width, banks, each.banks)
    found.put("scratchpad.bank_bits", width * each.banks)
    return found


def in_flight(netlist: Netlist, node: Node) -> int:
    """Slots that channels behind ``node`` have for tokens on their way through it."""
    timing = timing_of(netlist, node)
    return 0 if timing is None else slots_in_flight(timing.latency, timing.initiation_interval)


def data_bits(netlist: Netlist, each: Channel) -> int:
    """Bits of a value that follow its header."""
    element = data(netlist, each)
    return 0 if element is None or each.is_control else element.bits
