"""Channels that stand at the same place of equal parts of a program, such as its experts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable

from step.lowering.netlist import Netlist
from step.lowering.storage import slot_bits

ROUNDS = 4
"""Neighbours so far away have a say in what is alike."""


def alike(netlist: Netlist) -> list[list[str]]:
    """The channels of ``netlist`` in groups of those that nothing around them tells apart.

    That is: the operators at their ends and those near these, what their slots take, and the depths that are asked for.
    By colors of units that follow from those of their neighbours (Weisfeiler and Leman, 1968).
    """
    colors: dict[str, Hashable] = {unit.name: (unit.operator.name, len(unit.inputs)) for unit in netlist.units}
    own = {each.name: (slot_bits(netlist, each), each.depth) for each in netlist.channels}
    for _ in range(ROUNDS):
        near: dict[str, list[Hashable]] = {name: [] for name in colors}
        for each in netlist.channels:
            producer, consumer = each.producer[0], each.consumer[0]
            near[producer].append(("to", own[each.name], colors[consumer]))
            near[consumer].append(("from", own[each.name], colors[producer]))
        around = {name: (color, frozenset(near[name])) for name, color in colors.items()}
        numbers = {color: number for number, color in enumerate(dict.fromkeys(around.values()))}
        colors = {name: numbers[color] for name, color in around.items()}
    groups: dict[Hashable, list[str]] = defaultdict(list)
    for each in netlist.channels:
        groups[own[each.name], colors[each.producer[0]], colors[each.consumer[0]]].append(each.name)
    return list(groups.values())
