"""The firing rules of operators, one file each, found by the operator's name.

Each module has ``rule(node)``, which gives a `step.firing.declared.Declared`: the machine that fires, with its
parameters. An operator whose rule also needs to know its surroundings (memory, scratchpads, how long a function takes)
has its machines in `sim_approx.units` and its hardware in `hw.units`.
"""
