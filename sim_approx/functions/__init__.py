"""How long functions take, by formulas, one file per family.

Each module has ``timing(function, application)``, which raises `FabricError` for what it does not have.
"""

from __future__ import annotations

from sim_approx.timing import Timing
from step.errors import FabricError
from step.language.function import Function
from step.language.graph import Node
from step.lowering.application import Application
from step.lowering.fabric import FabricConfig
from step.lowering.lookup import family_module


def formula(node: Node, function: Function, fabric: FabricConfig, *, reduce: bool, rows: int = 1) -> Timing:
    """Cycles of ``function``, which ``node`` applies; `FabricError`, with the source line, where nobody knows them.

    Tiles of dynamic size are taken to have so many ``rows``.
    """
    family = family_module(__name__, node, function)
    try:
        timing: Timing = family.timing(function, Application.at(node, fabric, reduce=reduce).with_rows(rows))
    except FabricError as error:
        raise FabricError(f"{node.describe()}: {error}") from None
    return timing
