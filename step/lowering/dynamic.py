"""What there is hardware of, for tiles with a dynamic number of rows."""

from __future__ import annotations

from step.errors import FabricError
from step.language.graph import Node
from step.language.types import ElementType, Tile, Tuple
from step.lowering.netlist import Netlist
from step.lowering.plans import plan_of
from step.lowering.plans.plan import DynamicPlan
from step.lowering.plans.retile import JoinPlan, SplitPlan

PASSING = frozenset(
    {"broadcast", "eager_merge", "expand", "flatten", "partition", "promote", "reassemble", "reshape", "sink", "source"}
)
"""Operators that pass such tiles on."""


def is_dynamic(element: ElementType | None) -> bool:
    """Whether ``element`` is a tile whose rows only a run tells, or has one."""
    if isinstance(element, Tuple):
        return any(map(is_dynamic, element.items))
    return isinstance(element, Tile) and not element.rows.is_static


def check_dynamic(node: Node, netlist: Netlist) -> None:
    """Raise `FabricError` where ``node`` has tiles with a dynamic number of rows, and there is no hardware for that."""
    channels = [*netlist.inputs(node), *netlist.outputs(node)]
    if not any(is_dynamic(each.element) for each in channels if each is not None):
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
    if name not in ("map", "accum", "flat_map") or function is None:
        return False
    plan = plan_of(node, function, netlist.fabric, reduce=name == "accum")
    match name, plan:
        case "accum", JoinPlan():
            return plan.in_rows
        case "flat_map", SplitPlan():
            return not plan.makes_control and (plan.there or plan.lies_whole or plan.lies_within)
    return name == "map" and isinstance(plan, DynamicPlan)
