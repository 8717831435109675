"""Hints at parts of a fabric that a program plainly does not use."""

from __future__ import annotations

from collections.abc import Iterator

from step.language.graph import Node
from step.language.types import Tile, with_rows
from step.lowering.fabric import FabricConfig
from step.lowering.feasible import lanes_of, with_lanes
from step.lowering.links import item_bits
from step.lowering.netlist import Netlist
from step.lowering.plans.rows import word_bits
from step.lowering.timing import timing_of

PART = 8
"""An operator that works for less than one cycle in so many has too many lanes, whatever it has for its defaults."""


def advice(netlist: Netlist) -> list[str]:
    """Hints at what the program does not use: the width of links, lanes, and terms of fused sums."""
    fabric, hints = netlist.fabric, []
    carried = (each.element for each in netlist.channels if each.element is not None)
    elements = [with_rows(each, fabric.dynamic_rows) for each in carried]
    needed = max((word_bits(item_bits(each), 8 * fabric.link_bytes) for each in elements), default=0)
    least = 1 << (-(-max(8, needed) // 8) - 1).bit_length()
    if fabric.link_bytes > max(least, FabricConfig().link_bytes):
        hints.append(
            f"link_bytes={fabric.link_bytes} is wider than anything that this program sends; "
            f"link_bytes={least} is as fast"
        )
    return [*hints, *_waiting(netlist), *(hint for node in netlist.units if (hint := _padding(node)))]


def _waiting(netlist: Netlist) -> Iterator[str]:
    """A hint at operators that work for a part of the cycles, whatever the data is: the one with the least to do."""
    found = []
    having = {node.name: node for node in with_lanes(netlist)}
    for name, node in having.items():
        before = [having[each.producer[0]] for each in netlist.inputs(node) if each.producer[0] in having]
        pace, works = max((_interval(netlist, each) for each in before), default=0), _interval(netlist, node)
        if works and name not in netlist.fabric.lanes and pace >= PART * works and lanes_of(node, netlist) > 1:
            found.append((works / pace, node, f"{works} of {pace} cycles"))
    if found:
        _, node, part = min(found, key=lambda each: each[0])
        others = len(found) - 1
        more = f"; {others} more wait{'s' if others == 1 else ''} likewise" if others else ""
        yield (
            f"{node.describe()}: its {lanes_of(node, netlist)} lanes work for {part} at most, as tiles come no "
            f"faster{more}; step fit finds the lanes that each operator needs"
        )


def _interval(netlist: Netlist, node: Node) -> int:
    """Cycles from one firing of ``node`` with a value to the next one at least."""
    timing = timing_of(netlist, node)
    return 0 if timing is None else int(timing.initiation_interval)


def _padding(node: Node) -> str:
    """A hint at a fused sum of which the last terms are zeros."""
    function, first = node.operator.function, node.inputs[0].element if node.inputs else None
    terms = getattr(function, "terms", None)
    if terms is None or not isinstance(first, Tile) or int(first.cols) % terms == 0:
        return ""
    cols = int(first.cols)
    return (
        f"{node.describe()}: {cols} terms are no multiple of the {terms} that are added at once, so the last sum has "
        f"{-cols % terms} zeros"
    )
