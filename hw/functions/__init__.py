"""The hardware of functions, one file per family.

Each module has ``datapath(function, application, plan)``, which gives a `hw.functions.datapath.Datapath` as the plan of
the function (`step.lowering.plans`) wants it (for a FlatMap what cuts out a piece, see
`hw.functions.retile.RetileSlicer`), and raises `FabricError` for what it does not have.
"""

from __future__ import annotations

from typing import Any

from step.errors import FabricError
from step.host.extensions import needed_module
from step.language.function import Function
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.lowering.plans import plan_of
from step.lowering.plans.plan import Application


def datapath_of(node: Node, function: Function, netlist: Netlist, *, reduce: bool = False) -> Any:
    """The hardware of ``function``, which ``node`` applies; `FabricError`, with its line, where there is none."""
    family = needed_module(__name__, function.family, node.describe(), f"the function {function.name!r}")
    fabric = netlist.at(node)
    plan = plan_of(node, function, fabric, reduce=reduce)
    application = Application.at(node, fabric, reduce=reduce).with_rows(fabric.dynamic_rows)
    try:
        return family.datapath(function, application, plan)
    except FabricError as error:
        raise FabricError(f"{node.describe()}: {error}") from None
