"""The machines of a unit: the one that its operator's rule declares, or those of its file in `sim_approx.units`."""

from __future__ import annotations

from sim_approx.site import Site
from sim_approx.sized import passing, size
from sim_approx.words import unknown
from step.firing.declared import Declared, declared_rule
from step.firing.machine import Machine
from step.lowering.lookup import operator_module


def place(site: Site) -> Machine:
    """Place the machines of the unit of ``site``; returns the one whose activity is the unit's.

    Raises `FabricError` where there is nothing for the operator, or nothing for tiles of dynamic size that it has.
    """
    declared = declared_rule(site.node)
    if declared is None:
        module = operator_module("sim_approx.units", site.node)
        machine: Machine = module.build(site)
        size(site, machine, getattr(module, "sizes", None))
        return machine
    machine = _declared(site, declared)
    size(site, machine, None if declared.functions else passing)
    return machine


def _declared(site: Site, declared: Declared) -> Machine:
    """The machine of a rule that is the whole unit; functions only where their results are wanted."""
    parameters = dict(declared.parameters)
    if not site.computes:
        parameters |= dict.fromkeys(declared.functions, unknown)
    return site.add(declared.machine(**site.ports(), **parameters, latency=declared.latency, interval=site.beats))
