"""The hardware of operators whose units are written by hand, one file each, and of those that declare their rule.

Each module has ``unit(node, netlist)``, which gives a component with the ports of a `hw.firing.unit.Unit`.
An operator without a file here has the hardware that `hw.rules` makes of its rule in `step.rules`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hw.firing.unit import Unit
from hw.links.layout import is_far
from hw.memory.off_chip import OffChipUnit, loading
from hw.rules.unit import translated
from hw.verilog.modules import Parametric
from step.firing.declared import declared_rule
from step.host.extensions import find_module, needed_module
from step.language.graph import Node
from step.lowering.memory import MemoryMap
from step.lowering.netlist import Netlist


def unit_of(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``; raises `FabricError` where there is none."""
    made = _made(node, netlist)
    return made.at_distance(is_far(netlist) and isinstance(made, Unit | OffChipUnit))


def _made(node: Node, netlist: Netlist) -> Parametric:
    declared = declared_rule(node)
    if find_module(__name__, node.operator.name) is not None or declared is None:
        module = needed_module(__name__, node.operator.name, node.describe(), f"the operator {node.operator.name!r}")
        return module.unit(node, netlist)
    return translated(node, netlist) if declared.loads is None else loading(node, netlist, declared)


def constants_of(node: Node, memory: MemoryMap) -> Mapping[str, int]:
    """Values of the constant ports of ``node``'s unit, by name: of one at off-chip memory where its region begins, or
    the first beat of it that the unit asks for."""
    region = memory.loads.get(node.name) or memory.stores.get(node.name)
    if region is None:
        return {}
    declared = declared_rule(node)
    loads = None if declared is None else declared.loads
    return {"base": region.base + (0 if loads is None else loads.bounds[0] * region.beats_per_tile)}


def held_ports(node: Node) -> Sequence[int]:
    """Input ports whose token is the last one taken, not the one in front, when ``node``'s unit meets a fault."""
    declared = declared_rule(node)
    return [] if declared is None else [port % len(node.inputs) for port in declared.machine.unfinished_words.values()]
