"""What if: a change of the fabric, what the record of a run says of it, and what a run with it says."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from sim_approx.explain.causes import WORKS, Causes
from sim_approx.explain.edges import Edges, Kind, Paces
from sim_approx.explain.path import Path, binding_edges
from sim_approx.explain.record import NOBODY, Record
from sim_approx.placing.build import TimingOf, build_fabric, formula_timing
from sim_approx.running.simulation import Simulation, simulate
from step.language.function import Function
from step.language.graph import Graph, Node
from step.lowering.fabric import FABRIC, OWN, FabricConfig, is_of_fabric, with_settings
from step.lowering.limits import LIMITS
from step.lowering.netlist import Netlist, lower
from step.lowering.own import MOST
from step.lowering.plans.plan import Plan, Timing
from step.programs.data.inputs import BoundInputs
from step.running.result import Activity

CHANNELS = 6
"""Channels whose depth is tried alone: those for whose space operators waited longest."""

OPERATORS = 3
"""Operators that are tried with a function that takes no time: those whose work is most of the critical path."""

VERIFIED = 3
"""Changes that are run."""


@dataclass(frozen=True)
class Change:
    """The fabric of ``netlist`` instead of the present one; ``text`` says what is different.

    ``timing_of`` replaces the plans of functions.
    """

    text: str
    netlist: Netlist
    timing_of: TimingOf | None = None


@dataclass(frozen=True)
class WhatIf:
    """With the change ``text`` the run would take ``estimated`` cycles; ``verified`` is what it took, where it ran."""

    text: str
    estimated: int
    verified: int | None = None


def what_if(
    graph: Graph, data: BoundInputs, simulation: Simulation, record: Record, path: Path, *, verify: int = VERIFIED
) -> list[WhatIf]:
    """Changes of the fabric that make the run of ``graph``, whose critical path is ``path``, shorter, the best first.

    Of these ``verify`` are run. None is known where there are tiles of dynamic size.
    """
    if any(Paces.of(simulation.fabric).sized):
        return []
    retiming = Retiming(simulation, record)
    found: list[tuple[int, Change]] = []
    for change in changes(graph, simulation, record, path):
        fabric = build_fabric(change.netlist, data, change.netlist.deciding, change.timing_of)
        estimate = retiming.cycles(Paces.of(fabric))
        if estimate < simulation.ending.cycles:
            found.append((estimate, change))
    found.sort(key=lambda each: each[0])
    return [
        WhatIf(change.text, cycles, _cycles(change, data) if rank < verify else None)
        for rank, (cycles, change) in enumerate(found)
    ]


def _cycles(change: Change, data: BoundInputs) -> int:
    """What a run with ``change`` takes."""
    return simulate(change.netlist, data, timing_of=change.timing_of).ending.cycles


class Retiming:
    """The cycles that a run would take in other fabrics, by what its firings waited for in the one that it ran in.

    Exact where every input has the same tokens in the same order. A memory channel grants a beat as soon as none of
    those before it in the record is in the way; what waited for banks or DRAM waits as long as it did.
    """

    def __init__(self, simulation: Simulation, record: Record) -> None:
        self._fabric, self._record = simulation.fabric, record
        self._paces = Paces.of(simulation.fabric)
        self._late = [late for _, late in binding_edges(record, self._paces)]
        self._in_order = simulation.fabric.netlist.fabric.memory.dram is not None

    def cycles(self, paces: Paces) -> int:
        """Cycles of the run in the fabric of ``paces``."""
        # A shorter latency needs fewer slots: with those of before, no event waits for one that was later.
        capacities = list(map(max, paces.capacities, self._paces.capacities))
        edges = Edges(self._record, replace(paces, capacities=capacities), self._paces.memory_latency)
        times: list[int] = []
        granted: dict[int, list[int]] = defaultdict(list)
        end = 0
        for number, event in enumerate(self._record.events):
            cycle = 0
            for origin, cycles, kind, _ in edges.of(number):
                says = times[origin] + cycles
                if says > cycle and (kind is not Kind.BANDWIDTH or self._in_order):
                    cycle = says
            if event.port != NOBODY and not self._in_order:
                cycle = _grant(granted[paces.memory_channel(event)], cycle, paces.memory_interval)
            cycle += self._late[number]
            times.append(cycle)
            if event.port != NOBODY:
                assert self._fabric.memory is not None
                if self._fabric.memory.ports[event.port].writes:
                    end = max(end, cycle + edges.latency(event) + 1)
            elif event.ends and self._fabric.machines[event.machine].ends_run:
                end = max(end, cycle + 1)
        return end


def _grant(others: list[int], cycle: int, interval: int) -> int:
    """The first cycle from ``cycle`` on in which a memory channel can grant a beat, which joins the ``others``."""
    place = bisect_right(others, cycle - interval)
    while place < len(others) and others[place] < cycle + interval:
        cycle = others[place] + interval
        place += 1
    others.insert(place, cycle)
    return cycle


def changes(graph: Graph, simulation: Simulation, record: Record, path: Path) -> Iterator[Change]:
    """What is tried: more of each thing that the fabric has, channels that are never full, and functions that take no
    time, of those operators whose work is on the ``path``."""
    netlist = simulation.fabric.netlist
    for name, value in _parameters(netlist.fabric, memory=simulation.fabric.memory is not None):
        text = f"{name if is_of_fabric(name) else FABRIC + name}={value}"
        yield Change(f"--set {text}", lower(graph, with_settings(netlist.fabric, (text,))))
    depths = {
        each.name: max(channel.entered, each.depth)
        for each, channel in zip(netlist.channels, simulation.fabric.channels, strict=True)
    }
    blocked = Counter[int]()
    for wait in record.waits:
        if wait.activity == Activity.BLOCKED and wait.channel is not None and wait.channel < len(netlist.channels):
            blocked[wait.channel] += wait.until - wait.since
    causes = Causes(simulation.fabric)
    for number, _ in blocked.most_common(CHANNELS):
        each = netlist.channels[number]
        yield Change(f"{causes.link(number)}: never full", netlist.with_depths({each.name: depths[each.name]}))
    if blocked:
        yield Change("no channel ever full", netlist.with_depths(depths))
    work = (cause.what for cause in path.shares() if cause.why == WORKS and cause.what in netlist.graph.nodes)
    for name in islice(work, OPERATORS):
        yield Change(f"{name}: as fast as its links", netlist, without_work(netlist, name))


def without_work(netlist: Netlist, name: str) -> TimingOf:
    """The plans, but that the function of the operator ``name`` can begin anew in every cycle."""
    formula = formula_timing(netlist)

    def timing_of(node: Node, function: Function, reduce: bool) -> Plan:
        found = formula(node, function, reduce)
        return Timing(1, found.latency, found.streams) if node.name == name else found

    return timing_of


def _parameters(fabric: FabricConfig, *, memory: bool) -> Iterator[tuple[str, int]]:
    """Parameters of the fabric, and of its memory where it is used, with better values than they have."""
    for name, value in (("matmul_lanes", 2 * fabric.matmul_lanes), ("vector_lanes", 2 * fabric.vector_lanes)):
        if value <= LIMITS[name].most:
            yield name, value
    for kind in OWN:
        yield from ((f"{kind}.{name}", 2 * own) for name, own in getattr(fabric, kind).items() if 2 * own <= MOST[kind])
    if fabric.stages > 1:
        yield "stages", 1
    if not memory:
        return
    for name, value in (("outstanding", 2 * fabric.outstanding), ("memory.channels", 2 * fabric.memory.channels)):
        if value <= LIMITS[name].most:
            yield name, value
    for name, value in (("memory.interval", fabric.memory.interval), ("memory.latency", fabric.memory.latency)):
        if value > 1:
            yield name, 1
