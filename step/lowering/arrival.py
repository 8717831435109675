"""Programs whose outcome may depend on time."""

from __future__ import annotations

from step.lowering.netlist import Netlist


def arrival(netlist: Netlist) -> str | None:
    """Sentence on the first operator that takes tokens in order of arrival, which depends on time; None without one."""
    for node in netlist.units:
        if node.operator.arrival_ports(len(node.inputs)):
            return f"{node.describe()} takes tokens in order of arrival"
    return None
