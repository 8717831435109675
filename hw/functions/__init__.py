"""The hardware of functions, one file per family.

Each module has `hw.functions.datapath.Hardware` ``of`` its functions, that makes a `hw.functions.datapath.Datapath` as
the plan of the function (`step.lowering.plans`) wants it (for a FlatMap what cuts out a piece, see
`hw.functions.retile.RetileSlicer`).
"""

from __future__ import annotations

from typing import Any

from hw.functions.datapath import HARDWARE
from step.errors import FabricError
from step.host.extensions import needed_module
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.lowering.plans import plan_of

MOST_BITS = 1 << 16
"""Bits of a value in netlists of Amaranth."""


def datapath_of(node: Node, netlist: Netlist) -> Any:
    """The hardware of the function that ``node`` applies; `FabricError`, with its line, where there is none."""
    function: Any = node.operator.function
    needed_module(__name__, function.family, node.describe(), f"the function {function.name!r}")
    if type(function) not in HARDWARE:
        raise FabricError(f"{node.describe()}: there is no datapath for the function {function.name!r}")
    plan = plan_of(node, netlist.at(node))
    if plan.widest > MOST_BITS:
        raise FabricError(
            f"{node.describe()}: {plan.widest:,} bits wait in registers, and a value of Verilog has at most "
            f"{MOST_BITS:,} here: tiles in whole links, or whole parts of one, wait in memory"
        )
    return HARDWARE[type(function)](plan)
