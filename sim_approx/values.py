"""Which values a timed run needs: those that decide what some unit does."""

from __future__ import annotations

from sim_approx.units import control_ports, value_ports
from step.lowering.netlist import Netlist


def computing_units(netlist: Netlist) -> frozenset[str]:
    """Names of the units whose outputs' values decide what some unit does: the backward slice from all selectors."""
    units = {node.name: node for node in netlist.units}
    wanted: set[str] = set()
    todo = [netlist.by_consumer[node.name, port].producer[0] for node in netlist.units for port in control_ports(node)]
    while todo:
        name = todo.pop()
        if name not in wanted:
            wanted.add(name)
            todo += [netlist.by_consumer[name, port].producer[0] for port in value_ports(units[name])]
    return frozenset(wanted)
