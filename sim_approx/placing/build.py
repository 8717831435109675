"""Placing the machines of a program: of a unit that of its rule, or those of `sim_approx.units`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache

from sim_approx.engine.words import unknown
from sim_approx.memory.channels import OffChipMemory
from sim_approx.memory.off_chip import load
from sim_approx.placing.masters import share
from sim_approx.placing.site import PlacedFabric, TimingOf, UnitSite
from step.errors import FabricError
from step.firing.declared import Declared, declared_rule
from step.firing.machine import Machine, Pace, Sizes
from step.host.extensions import find_module, needed_module
from step.language.loops import Stops, Walk, listed
from step.language.reduction import Distinct
from step.language.types import is_dynamic
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
    name, where = site.node.operator.name, site.node.describe()
    module = find_module("sim_approx.units", name)
    sizes: Callable[[UnitSite, Machine], Sizes] | None
    if module is None and (declared := declared_rule(site.node)) is not None:
        machine, sizes = _declared(site, declared), lambda site, _: declared_sizes(site, declared)
    else:
        module = needed_module("sim_approx.units", name, where, f"the operator {name!r}")
        machine, sizes = module.build(site), getattr(module, "sizes", None)
    if site.is_dynamic:
        if sizes is None:
            raise FabricError(
                f"{where}: only the interpreter has tiles of dynamic size at this operator; "
                "pack their rows into tiles of a static size"
            )
        machine.sizes = cache(sizes(site, machine))
        machine.sized = tuple(is_dynamic(each.element) for each in site.node.output_types)
    return machine


def _declared(site: UnitSite, declared: Declared) -> Machine:
    """The machine of a rule that is the whole unit; functions only where their results are wanted."""
    parameters = declared.given(site.tiled, site.most_rows if any(map(is_dynamic, site.elements_out)) else 0)
    parameters |= {name: listed(each) for name, each in parameters.items() if isinstance(each, Walk | Stops)}
    if declared.loads is not None:
        return load(site, declared, parameters)
    if not site.computes:
        for name, value in declared.parameters.items():
            if callable(value) and not isinstance(value, Distinct):  # which decides
                parameters[name] = getattr(value, "rows", None) or unknown
    if (applied := declared.applied) is None:
        latency = declared.cycles(site.fabric.link_bytes, site.fabric.dynamic_rows, carries=site.carries)
        pace = Pace(site.words, latency)
    else:
        timing = site.timing(applied)
        pace = Pace(timing.initiation_interval, timing.latency, timing.burst if applied.stored else 1)
    machine = site.add(declared.machine(**site.ports(), **parameters, **pace._asdict()))
    if hasattr(machine, "arrivals"):
        site.arrivals[site.node.name] = machine.arrivals
    return machine


def declared_sizes(site: UnitSite, declared: Declared) -> Sizes:
    """Sizes of a unit that sends on what it gets, a part of it, or what it makes of it, as it has ``declared``."""

    def pace(rows: int) -> Pace:
        cycles = site.words_with(rows)
        if declared.applied is not None:
            timing = site.timing(declared.applied, rows)
            return Pace(timing.initiation_interval, timing.latency, cycles[-1])
        latency = declared.cycles(site.fabric.link_bytes, rows, carries=site.carries)
        waits = 1 if isinstance(declared.latency, int) else latency
        return Pace(max(*cycles, waits), latency, max(cycles[len(site.inputs) :]))

    return pace
