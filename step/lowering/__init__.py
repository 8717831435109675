"""From a graph to what RTL and timing model share: `fabric`, `netlist` (with its passes), `memory_map`, `feasible`."""
