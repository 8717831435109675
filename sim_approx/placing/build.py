"""From a netlist to machines and channels: of a unit the machine of its rule, or those of `sim_approx.units`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from sim_approx.engine.words import CycleClock, RowsOf, unknown
from sim_approx.memory.channels import BeatPort, MemoryPorts, OffChipMemory
from sim_approx.memory.scratchpad import ShareSites, share_sites
from sim_approx.placing.masters import share
from sim_approx.placing.site import UnitSite, declared_sizes, set_sizes
from step.firing.declared import Declared, declared_rule
from step.firing.machine import Channel, Machine, Unread
from step.host.extensions import needed_module
from step.language.function import Function
from step.language.graph import Node
from step.language.tokens import Token
from step.lowering.board import board_of
from step.lowering.feasible import check_feasible
from step.lowering.links import slots_in_flight
from step.lowering.memory import memory_map
from step.lowering.netlist import Netlist
from step.lowering.plans import plan_of
from step.lowering.plans.plan import Plan
from step.programs.data.inputs import BoundInputs
from step.programs.data.stored import Tensors

TimingOf = Callable[[Node, Function, bool], Plan]


@dataclass
class PlacedFabric:
    """All machines of a netlist, ready to run.

    ``units``: per unit the machine whose activity is the unit's. ``channels``: those of the netlist, by its order;
    ``owners`` has the unit of every machine, ``all_channels`` also the channels inside of units. ``tensors``,
    ``outputs`` and ``arrivals`` fill up during the run. ``ports``: those of the units at off-chip memory.
    """

    netlist: Netlist
    machines: list[Machine]
    units: dict[str, Machine]
    owners: dict[Machine, Node]
    channels: list[Channel]
    all_channels: list[Channel]
    tensors: Tensors
    outputs: dict[str, list[Token]]
    arrivals: dict[str, list[int]]
    clock: CycleClock
    ports: tuple[BeatPort, ...]
    memory: OffChipMemory | None
    shares: ShareSites

    def change(self, netlist: Netlist) -> None:
        """Have the depths and the memory of ``netlist``, which is the same otherwise, in the runs that come."""
        for before, each, channel in zip(self.netlist.channels, netlist.channels, self.channels, strict=True):
            if each.depth != before.depth:
                channel.capacity += each.depth - before.depth
                channel.lag = netlist.lag(each)
        if self.memory is not None:
            self.memory.configure(netlist.fabric.memory)
        self.netlist = netlist


def formula_timing(netlist: Netlist) -> TimingOf:
    """Timing of functions by their plans."""
    return lambda node, function, reduce: plan_of(node, function, netlist.fabric, reduce=reduce)


def build_fabric(
    netlist: Netlist, data: BoundInputs, computing: Collection[str], timing_of: TimingOf | None = None
) -> PlacedFabric:
    """Place the machines of every unit; those in ``computing`` compute the values they send.

    ``timing_of`` replaces the plans. Raises `FabricError` for what the fabric can not do.
    """
    timing_of = timing_of or formula_timing(netlist)
    check_feasible(netlist)
    clock, machines = CycleClock(), list[Machine]()
    tensors = Tensors(netlist.graph, data)
    outputs, arrivals = dict[str, list[Token]](), dict[str, list[int]]()
    regions, ports = memory_map(netlist), MemoryPorts()
    channels = [
        Channel(each.depth, each.index, netlist.lag(each), netlist.gathering(each)) for each in netlist.channels
    ]
    all_channels = list(channels)

    def internal(depth: int) -> Channel:
        channel = Channel(depth)
        all_channels.append(channel)
        return channel

    units: dict[str, Machine] = {}
    owners: dict[Machine, Node] = {}
    shares = share_sites(netlist, internal, clock)
    for node in netlist.units:
        before, behind = netlist.inputs(node), netlist.outputs(node)
        site = UnitSite(
            node=node,
            inputs=tuple(channels[each.index] for each in before),
            outputs=tuple(Unread() if each is None else channels[each.index] for each in behind),
            elements_in=tuple(each.element for each in before),
            elements_out=tuple(None if each is None else each.element for each in behind),
            beats_in=tuple(netlist.words(each, node.name) for each in before),
            beats_out=tuple(netlist.words(each, node.name) for each in behind),
            carries=any(each is not None and each.carries for each in behind),
            fabric=netlist.at(node),
            data=data,
            tensors=tensors,
            computes=node.name in computing,
            memory=ports,
            memory_map=regions,
            share=shares.by_unit.get(node.name),
            most_rows=netlist.rows_from(node),
            channel=internal,
            timing_of=timing_of,
            outputs_of_run=outputs,
            arrivals=arrivals,
            machines=machines,
        )
        placed = len(machines)
        machine = units[node.name] = place(site)
        owners |= dict.fromkeys(machines[placed:], node)
        machine.ends_run = node.operator.ends_run
    for machine in units.values():
        in_flight = slots_in_flight(machine.latency, machine.interval)
        for channel in machine.outputs:
            channel.capacity += in_flight
            channel.space += in_flight
    of_units, bus = (*ports.reads, *ports.writes), netlist.fabric.memory.bus
    if bus is not None:
        ports = share(board_of(netlist, bus), ports, internal, machines.append)
    memory = OffChipMemory(netlist.fabric.memory, clock, ports) if of_units else None
    if memory is not None:
        machines.append(memory)
    join(machines)
    return PlacedFabric(
        netlist=netlist,
        machines=machines,
        units=units,
        owners=owners,
        channels=channels,
        all_channels=all_channels,
        tensors=tensors,
        outputs=outputs,
        arrivals=arrivals,
        clock=clock,
        ports=of_units,
        memory=memory,
        shares=shares,
    )


def join(machines: Sequence[Machine]) -> None:
    """Tell machines their order, and channels who reads and writes them."""
    for order, machine in enumerate(machines):
        machine.order = order
        for channel in machine.inputs:
            channel.reader = machine
        for channel in machine.outputs:
            channel.writer = machine


def place(site: UnitSite) -> Machine:
    """Place the machines of the unit of ``site``; returns the one whose activity is the unit's.

    Raises `FabricError` where there is nothing for the operator, or nothing for tiles of dynamic size that it has.
    """
    declared = declared_rule(site.node)
    if declared is None:
        name, where = site.node.operator.name, site.node.describe()
        module = needed_module("sim_approx.units", name, where, f"the operator {name!r}")
        machine: Machine = module.build(site)
        set_sizes(site, machine, getattr(module, "sizes", None))
        return machine
    machine = _declared(site, declared)
    set_sizes(site, machine, lambda site, _: declared_sizes(site, declared))
    return machine


def _declared(site: UnitSite, declared: Declared) -> Machine:
    """The machine of a rule that is the whole unit; functions only where their results are wanted."""
    parameters = dict(declared.parameters)
    if not site.computes:
        for name in declared.functions:
            rows_from = getattr(parameters[name], "rows_from", ())
            parameters[name] = RowsOf(rows_from) if rows_from else unknown
    latency = declared.cycles(site.fabric.link_bytes, site.fabric.dynamic_rows, carries=site.carries)
    return site.add(declared.machine(**site.ports(), **parameters, latency=latency, interval=site.beats))
