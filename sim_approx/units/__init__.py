"""The firing rules, one file per operator, found by the operator's name.

Each module has ``build(site)``, which places the operator's machines and returns the one whose activity is the
unit's. It may have ``CONTROL`` (ports whose values decide what the unit does) and ``value_inputs(node)`` (ports whose
values its outputs are made of; all of them if it is missing).
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from step.language.graph import Node
from step.lowering.lookup import operator_module


def unit_module(node: Node) -> ModuleType:
    """The module with the rules of ``node``'s operator; raises `FabricError` where there is none."""
    return operator_module(__name__, node)


def control_ports(node: Node) -> Sequence[int]:
    """Input ports whose values decide what the unit does; -1 is the last one."""
    return [port % len(node.inputs) for port in getattr(unit_module(node), "CONTROL", ())]


def value_ports(node: Node) -> Sequence[int]:
    """Input ports whose values the values of the outputs are made of."""
    module = unit_module(node)
    ports: Sequence[int] = module.value_inputs(node) if hasattr(module, "value_inputs") else range(len(node.inputs))
    return ports
