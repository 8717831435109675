"""From a netlist to machines and channels."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from sim_approx.memory import Memory
from sim_approx.placing import place
from sim_approx.scratchpad import ShareSites, share_sites
from sim_approx.site import Site
from sim_approx.words import Clock
from step.firing.machine import Channel, Machine, Unread
from step.language.function import Function
from step.language.graph import Node
from step.language.tokens import Token
from step.lowering.feasible import check_feasible
from step.lowering.links import slots_in_flight
from step.lowering.memory_map import memory_map
from step.lowering.netlist import Netlist
from step.lowering.plans import plan_of
from step.lowering.plans.plan import Plan
from step.programs.inputs import BoundInputs
from step.programs.stored import Tensors

TimingOf = Callable[[Node, Function, bool], Plan]


@dataclass
class Fabric:
    """All machines of a netlist, ready to run.

    ``units``: per unit the machine whose activity is the unit's. ``channels``: those of the netlist, by its order;
    ``owners`` has the unit of every machine, ``all_channels`` also the channels inside of units. ``tensors``,
    ``outputs`` and ``arrivals`` fill up during the run.
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
    clock: Clock
    memory: Memory | None
    shares: ShareSites

    def beats(self) -> list[int]:
        """Those that passed at each port of the memory."""
        return [] if self.memory is None else [port.granted for port in self.memory.ports]

    def change(self, netlist: Netlist) -> None:
        """Have the depths and the memory of ``netlist``, which is the same otherwise, in the runs that come."""
        for before, each, channel in zip(self.netlist.channels, netlist.channels, self.channels, strict=True):
            if each.depth != before.depth:
                channel.capacity += each.depth - before.depth
                channel.deep = netlist.is_deep(each)
        if self.memory is not None:
            self.memory.configure(netlist.fabric.memory)
        self.netlist = netlist


def formula_timing(netlist: Netlist) -> TimingOf:
    """How long functions take by their plans."""

    def look_up(node: Node, function: Function, reduce: bool) -> Plan:
        return plan_of(node, function, netlist.fabric, reduce=reduce)

    return look_up


def build_fabric(
    netlist: Netlist, data: BoundInputs, computing: Collection[str], timing_of: TimingOf | None = None
) -> Fabric:
    """Place the machines of every unit; those in ``computing`` compute the values they send.

    ``timing_of`` replaces the plans. Raises `FabricError` for what the fabric can not do.
    """
    check_feasible(netlist, dynamic=True)
    clock, machines = Clock(), list[Machine]()
    tensors = Tensors(netlist.graph, data)
    outputs, arrivals = dict[str, list[Token]](), dict[str, list[int]]()
    memory = Memory(netlist.fabric.memory, clock)
    channels = [Channel(each.depth, each.index, deep=netlist.is_deep(each)) for each in netlist.channels]
    all_channels = list(channels)

    def internal(depth: int) -> Channel:
        channel = Channel(depth)
        all_channels.append(channel)
        return channel

    units: dict[str, Machine] = {}
    owners: dict[Machine, Node] = {}
    regions, shares = memory_map(netlist), share_sites(netlist, internal, clock)
    for node in netlist.units:
        before, behind = netlist.inputs(node), netlist.outputs(node)
        site = Site(
            node=node,
            inputs=tuple(channels[each.index] for each in before),
            outputs=tuple(Unread() if each is None else channels[each.index] for each in behind),
            elements_in=tuple(each.element for each in before),
            elements_out=tuple(None if each is None else each.element for each in behind),
            beats_in=tuple(map(netlist.beats, before)),
            beats_out=tuple(map(netlist.beats, behind)),
            carries=any(each is not None and each.carries for each in behind),
            fabric=netlist.fabric,
            data=data,
            tensors=tensors,
            computes=node.name in computing,
            memory=memory,
            memory_map=regions,
            share=shares.by_unit.get(node.name),
            channel=internal,
            timing_of=timing_of or formula_timing(netlist),
            outputs_of_run=outputs,
            arrivals=arrivals,
            machines=machines,
        )
        placed = len(machines)
        machine = units[node.name] = place(site)
        owners |= dict.fromkeys(machines[placed:], node)
        machine.ends_run = node.operator.ends_run
        for each in machine.outputs:
            in_flight = slots_in_flight(machine.latency, machine.interval)
            each.capacity += in_flight
            each.space += in_flight
    used = memory.close()
    if used:
        machines.append(memory)
    return Fabric(
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
        memory=memory if used else None,
        shares=shares,
    )
