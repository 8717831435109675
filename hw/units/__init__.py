"""The hardware of operators, one file each.

Each module has ``unit(node, netlist)``, which gives a component with the ports of a `hw.unit.Unit`. It may have
``constants(node, memory)``: values of constant ports, by name.
"""
