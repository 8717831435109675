"""The hardware of functions, one file per family.

Each module has ``datapath(function, application, plan)``, which gives a `hw.functions.datapath.Datapath` as the plan of
the function (`step.lowering.plans`) wants it (for a FlatMap what cuts out a piece, see
`hw.functions.retile.RetileSlicer`), and raises `FabricError` for what it does not have.
"""

from __future__ import annotations

from typing import Any

from step.errors import FabricError
from step.language.function import Function
from step.language.graph import Node
from step.lowering.application import Application
from step.lowering.lookup import family_module
from step.lowering.netlist import Netlist
from step.lowering.plans import plan_of


def datapath_of(node: Node, function: Function, netlist: Netlist, *, reduce: bool = False) -> Any:
    """The hardware of ``function``, which ``node`` applies; `FabricError`, with its line, where there is none."""
    family = family_module(__name__, node, function)
    plan = plan_of(node, function, netlist.fabric, reduce=reduce)
    try:
        return family.datapath(function, Application.at(node, netlist.fabric, reduce=reduce), plan)
    except FabricError as error:
        raise FabricError(f"{node.describe()}: {error}") from None
