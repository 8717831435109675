"""The firing rules of operators that need to know their surroundings, one file each, found by the operator's name.

Each module has ``build(site)``, which places the operator's machines and returns the one whose activity is the
unit's. It may have ``sizes(site, machine)`` (see `sim_approx.placing.site`). The other rules stand in `step.rules`.
"""
