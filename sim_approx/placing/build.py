"""From a netlist to machines and channels: of a unit the machine of its rule, or those of `sim_approx.units`."""

from __future__ import annotations

from collections.abc import Collection

from sim_approx.engine.words import RowsOf, unknown
from sim_approx.memory.channels import OffChipMemory
from sim_approx.placing.masters import share
from sim_approx.placing.site import PlacedFabric, TimingOf, UnitSite, declared_sizes, set_sizes
from step.firing.declared import Declared, declared_rule
from step.firing.machine import Machine
from step.host.extensions import needed_module
from step.lowering.board import board_of
from step.lowering.feasible import check_feasible
from step.lowering.links import slots_in_flight
from step.lowering.netlist import Netlist
from step.programs.data.inputs import BoundInputs


def build_fabric(
    netlist: Netlist, data: BoundInputs, computing: Collection[str], timing_of: TimingOf | None = None
) -> PlacedFabric:
    """Place the machines of every unit; those in ``computing`` compute the values they send.

    ``timing_of`` replaces the plans. Raises `FabricError` for what the fabric can not do.
    """
    check_feasible(netlist)
    placed = PlacedFabric(netlist, data, computing, timing_of)
    for node in netlist.units:
        machine = placed.units[node.name] = place(UnitSite(node, placed))
        machine.ends_run = node.operator.ends_run
    for machine in placed.units.values():
        in_flight = slots_in_flight(machine.latency, machine.interval)
        for channel in machine.outputs:
            channel.capacity += in_flight
            channel.space += in_flight
    ports, bus = placed.memory_ports, netlist.fabric.memory.bus
    placed.ports = *ports.reads, *ports.writes
    if bus is not None:
        ports = share(board_of(netlist, bus), ports, placed.channel, placed.add)
    if placed.ports:
        placed.memory = OffChipMemory(netlist.fabric.memory, placed.clock, ports)
        placed.add(placed.memory)
    return placed


def place(site: UnitSite) -> Machine:
    """Place the machines of the unit of ``site``; returns the one whose activity is the unit's.

    Raises `FabricError` where there is nothing for the operator, or nothing for tiles of dynamic size that it has.
    """
    if declared := declared_rule(site.node):
        machine = _declared(site, declared)
        set_sizes(site, machine, lambda site, _: declared_sizes(site, declared))
        return machine
    name, where = site.node.operator.name, site.node.describe()
    module = needed_module("sim_approx.units", name, where, f"the operator {name!r}")
    machine = module.build(site)
    set_sizes(site, machine, getattr(module, "sizes", None))
    return machine


def _declared(site: UnitSite, declared: Declared) -> Machine:
    """The machine of a rule that is the whole unit; functions only where their results are wanted."""
    parameters = dict(declared.parameters)
    if not site.computes:
        for name in declared.functions:
            rows_from = getattr(parameters[name], "rows_from", ())
            parameters[name] = RowsOf(rows_from) if rows_from else unknown
    latency = declared.cycles(site.fabric.link_bytes, site.fabric.dynamic_rows, carries=site.carries)
    machine = site.add(declared.machine(**site.ports(), **parameters, latency=latency, interval=site.beats))
    if hasattr(machine, "arrivals"):
        site.arrivals[site.node.name] = machine.arrivals
    return machine
