"""The firing rules, one file per operator, found by the operator's name.

Each module has ``build(site)``, which places the operator's machines and returns the one whose activity is the
unit's.
"""

from __future__ import annotations

from types import ModuleType

from step.language.graph import Node
from step.lowering.lookup import operator_module


def unit_module(node: Node) -> ModuleType:
    """The module with the rules of ``node``'s operator; raises `FabricError` where there is none."""
    return operator_module(__name__, node)
