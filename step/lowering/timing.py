"""Cycles of the units of a netlist that apply a function."""

from __future__ import annotations

from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.lowering.plans import plan_of
from step.lowering.plans.plan import UnitPlan


def timing_of(netlist: Netlist, node: Node) -> UnitPlan | None:
    """The cycles of a firing of ``node`` with a value, of tiles of dynamic size with the most rows; None where it
    applies no function, or nobody needs the result."""
    (first, *_) = netlist.outputs(node) or [None]
    if node.operator.function is None or first is None or not first.carries:
        return None
    plan, reduces = plan_of(node, netlist.at(node)), node.operator.reduces
    *operands, result = (netlist.words(each, node.name) for each in (*netlist.inputs(node), first))
    return UnitPlan(plan, tuple(operands), result, first.is_control, reduces)
