"""Functions that have hardware for tiles with a dynamic number of rows."""

from __future__ import annotations

from step.errors import FabricError
from step.language.function import AccumFunction
from step.language.graph import Node
from step.language.types import is_dynamic
from step.lowering.netlist import Netlist
from step.lowering.plans import plan_of
from step.lowering.plans.plan import DynamicPlan, Plan
from step.lowering.plans.retile import JoinPlan, SplitPlan
from step.lowering.plans.row import RowPlan
from step.lowering.plans.vector import VectorPlan

PACKED = "pack their rows into tiles of a static size"
"""What always helps."""


def check_dynamic(node: Node, netlist: Netlist) -> None:
    """Raise `FabricError` where ``node`` has tiles with a dynamic number of rows, and there is no hardware for that."""
    function = node.operator.function
    channels = [*netlist.inputs(node), *netlist.outputs(node)]
    if function is None or not any(is_dynamic(each.element) for each in channels if each is not None):
        return
    plan = plan_of(node, function, netlist.fabric, reduce=isinstance(function, AccumFunction))
    if not _computes(plan):
        mend = "choose link_bytes of a scalar or more" if isinstance(plan, VectorPlan | RowPlan) else PACKED
        raise FabricError(
            f"{node.describe()}: there is no hardware of the function {function.name!r} here for tiles with a dynamic "
            f"number of rows; {mend}"
        )


def _computes(plan: Plan) -> bool:
    """Whether there is a datapath with ``plan``."""
    match plan:
        case JoinPlan():
            return plan.streams
        case SplitPlan():
            return plan.there or plan.slides or plan.lies_whole or plan.lies_within
        case VectorPlan() | RowPlan():
            return not plan.narrow
    return isinstance(plan, DynamicPlan)
