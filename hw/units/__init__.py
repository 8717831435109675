"""The hardware of operators, one file each.

Each module has ``unit(node, netlist)``, which gives a component with the ports of a `hw.unit.Unit`. It may have
``constants(node, memory)``: values of constant ports, by name; and ``HELD``: input ports (-1 is the last one) whose
tokens a unit takes before it is done with them, so that what it is at when it meets a fault is the last token taken.
"""

from __future__ import annotations

from collections.abc import Sequence

from step.language.graph import Node
from step.lowering.lookup import operator_module


def held_ports(node: Node) -> Sequence[int]:
    """Input ports whose token is the last one taken, not the one in front, when ``node``'s unit meets a fault."""
    return [port % len(node.inputs) for port in getattr(operator_module(__name__, node), "HELD", ())]
