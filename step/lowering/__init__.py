"""From a graph to what back ends share: `fabric`, `netlist` (with its passes), `memory_map`, `feasible`, `plans`."""
