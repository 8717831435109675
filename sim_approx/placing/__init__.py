"""From a netlist to machines and channels."""
