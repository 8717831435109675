"""Plans: how the hardware of functions is laid out and how many cycles it takes, one file per family.

Each module has ``plan(function, application)``, which gives a `step.lowering.plans.plan.DatapathPlan`. The
datapath is built by it, and the fast model counts by it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from step.errors import FabricError
from step.host.extensions import needed_module
from step.language.function import Function
from step.language.graph import Node
from step.lowering.fabric import FabricConfig
from step.lowering.plans.plan import Application, DatapathPlan


def plan_of(node: Node, fabric: FabricConfig) -> DatapathPlan:
    """The plan of the function that ``node`` applies; `FabricError`, with the source line, where there is none.

    ``fabric`` is that of the node (`Netlist.at`). Tiles of dynamic size have the most rows.
    """
    function: Any = node.operator.function
    family = needed_module(__name__, function.family, node.describe(), f"the function {function.name!r}")
    try:
        return _planned(family.plan, function, Application.at(node, fabric, reduce=node.operator.reduces))
    except FabricError as error:
        raise FabricError(f"{node.describe()}: {error}") from None


@lru_cache(maxsize=4096)
def _planned(
    plan: Callable[[Function, Application], DatapathPlan], function: Function, application: Application
) -> DatapathPlan:
    """``plan`` of both, once for all units that are alike: what follows from it is found out slowly, and kept there."""
    return plan(function, application)
