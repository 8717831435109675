"""What there is hardware of, for tiles with a dynamic number of rows."""

from __future__ import annotations

from step.errors import FabricError
from step.language.graph import Node
from step.language.types import is_dynamic
from step.lowering.netlist import Netlist
from step.lowering.plans import plan_of
from step.lowering.plans.plan import DynamicPlan
from step.lowering.plans.retile import JoinPlan, SplitPlan

PASSING = frozenset(
    {"broadcast", "eager_merge", "expand", "flatten", "partition", "promote", "reassemble", "reshape", "sink", "source"}
)
"""Operators that pass such tiles on."""


def check_dynamic(node: Node, netlist: Netlist) -> None:
    """Raise `FabricError` where ``node`` has tiles with a dynamic number of rows, and there is no hardware for that."""
    channels = [*netlist.inputs(node), *netlist.outputs(node)]
    elements = [each.element for each in channels if each is not None and each.element is not None]
    if not any(is_dynamic(tile) for element in elements for tile in element.tiles):
        return
    function = getattr(node.operator, "function", None)
    if node.operator.name not in PASSING and not _computes(node, netlist):
        what = f"the operator {node.operator.name!r}" if function is None else f"the function {function.name!r} here"
        raise FabricError(
            f"{node.describe()}: there is no hardware of {what} for tiles with a dynamic number of rows; pack their "
            "rows into tiles of a static size"
        )


def _computes(node: Node, netlist: Netlist) -> bool:
    """Whether there is a datapath for what ``node`` computes."""
    function, name = getattr(node.operator, "function", None), node.operator.name
    if name not in ("map", "accum", "scan", "flat_map") or function is None:
        return False
    plan = plan_of(node, function, netlist.fabric, reduce=name in ("accum", "scan"))
    match name, plan:
        case "accum", JoinPlan():
            return plan.streams
        case "flat_map", SplitPlan():
            return not plan.makes_control and (plan.there or plan.lies_whole or plan.lies_within)
    return isinstance(plan, DynamicPlan)
