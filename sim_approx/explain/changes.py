"""Changes of the fabric, and the cycles of runs with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

import numpy as np

from sim_approx.backend import Model, simulate
from sim_approx.engine.record import RunRecord
from sim_approx.explain.bandwidth import setting
from sim_approx.explain.causes import BANDWIDTH, DISTANCE, DRAM, LATENCY, MEMORY, WORKS, Cause, Causes
from sim_approx.explain.path import Path
from sim_approx.placing.site import TimingOf
from sim_approx.running.model_run import ModelRun
from step.language.function import Function
from step.language.graph import Graph, Node
from step.language.parameters import fits
from step.lowering.by_operator import LANES, LINKS, NUMBERS
from step.lowering.fabric import LIMITS, FabricConfig, with_settings
from step.lowering.netlist import Netlist, lower
from step.lowering.plans import plan_of
from step.lowering.plans.plan import Plan, Timing
from step.programs.data.inputs import BoundInputs
from step.running.result import Activity

CHANNELS = 6
"""Channels whose depth is tried alone: those for whose space operators waited longest."""

OPERATORS = 3
"""Operators that are tried with a function that takes no time: those whose work is most of the critical path."""

EVENTS = 20_000_000
"""Firings and beats of all tries together, at most; of a run that has more than a third of these, `LEAST` are made."""

LEAST = 3


@dataclass(frozen=True)
class Change:
    """Another fabric, about ``cycles`` of the critical path: how to ``run``, given the model of the present one.

    ``text`` says what is different.
    """

    text: str
    cycles: int
    run: Callable[[Model], ModelRun]


@dataclass(frozen=True)
class WhatIf:
    """With the change ``text`` the run takes ``cycles``."""

    text: str
    cycles: int


def what_if(
    graph: Graph, data: BoundInputs, simulation: ModelRun, record: RunRecord, path: Path, advised: Sequence[str] = ()
) -> list[WhatIf]:
    """Changes of the fabric that make the run of ``graph``, whose critical path is ``path``, shorter, the best first.

    Settings that are ``advised`` are among them. All are run; of a large run only those that are about most of the path
    (`EVENTS`).
    """
    tries = max(LEAST, EVENTS // max(1, len(record.events)))
    netlist, cycles = simulation.fabric.netlist, simulation.ending.cycles
    tried = list(changes(graph, simulation, record, path))
    text = " ".join(f"--set {each}" for each in advised)
    if advised and all(each.text != text for each in tried):
        tried.append(_with_settings(graph, netlist.fabric, advised, cycles))
    promising = sorted(tried, key=lambda each: -each.cycles)
    model = Model(netlist, data)
    found = [WhatIf(change.text, change.run(model).ending.cycles) for change in promising[:tries]]
    return sorted((each for each in found if each.cycles < simulation.ending.cycles), key=lambda each: each.cycles)


def changes(graph: Graph, simulation: ModelRun, record: RunRecord, path: Path) -> Iterator[Change]:
    """Changes to try: more of each thing that the fabric has, channels that are never full, and functions that take no
    time, of those operators whose work is on the ``path``."""
    netlist = simulation.fabric.netlist
    shares = path.shares()
    for name, value in _parameters(netlist.fabric, memory=simulation.fabric.memory is not None):
        cycles = sum(each for cause, each in shares.items() if _concerns(netlist, name, cause))
        yield _with_settings(graph, netlist.fabric, (setting(name, value),), cycles)
    depths = {
        each.name: max(channel.entered, each.depth)
        for each, channel in zip(netlist.channels, simulation.fabric.channels, strict=True)
    }
    waits = record.waits
    of = waits[(waits["activity"] == Activity.BLOCKED) & (waits["channel"] >= 0)]
    counted = np.bincount(of["channel"], of["end"] - of["since"])[: len(netlist.channels)].astype(int)
    blocked = +Counter(dict(enumerate(counted.tolist())))
    causes = Causes(simulation.fabric)
    for number, _ in blocked.most_common(CHANNELS):
        each, link = netlist.channels[number], causes.link(number)
        cycles = sum(cycles for cause, cycles in shares.items() if cause.what == link)
        yield Change(f"{link}: never full", cycles, partial(Model.run, depths={each.name: depths[each.name]}))
    if blocked:
        links = {causes.link(number) for number in blocked}
        cycles = sum(cycles for cause, cycles in shares.items() if cause.what in links)
        yield Change("no channel ever full (step fifos finds depths)", cycles, partial(Model.run, depths=depths))
    units = simulation.fabric.units
    work = (
        (cause.what, cycles)
        for cause, cycles in shares.items()
        if cause.why == WORKS and cause.what in netlist.graph.nodes and units[cause.what].sizes is None
    )
    for name, cycles in islice(work, OPERATORS):
        yield Change(f"{name}: as fast as its links", cycles, partial(_with_timing, without_work(netlist, name)))


def _with_settings(graph: Graph, fabric: FabricConfig, settings: Sequence[str], cycles: int) -> Change:
    """The change that ``settings`` are, which is about so many ``cycles`` of the path."""
    text, other = " ".join(f"--set {each}" for each in settings), with_settings(fabric, settings)
    if replace(other, memory=fabric.memory) == fabric and other.memory.beat_bytes == fabric.memory.beat_bytes:
        return Change(text, cycles, partial(Model.run, memory=other.memory))
    return Change(text, cycles, lambda model: simulate(lower(graph, other), model.data))


def _with_timing(timing_of: TimingOf, model: Model) -> ModelRun:
    return simulate(model.netlist, model.data, timing_of=timing_of)


def _concerns(netlist: Netlist, parameter: str, cause: Cause) -> bool:
    """Whether what the cycles of ``cause`` went to is what ``parameter`` is about."""
    if cause.what == MEMORY:
        whys = {"memory.channels": (BANDWIDTH, DRAM), "memory.interval": (BANDWIDTH,)}
        return cause.why in {"outstanding": (LATENCY,), "memory.latency": (LATENCY,), **whys}.get(parameter, ())
    if cause.why == DISTANCE:
        return parameter == "hop"
    node = netlist.graph.nodes.get(cause.what)
    if node is None or cause.why not in (WORKS, LATENCY):
        return False
    function = node.operator.function
    if parameter in ("matmul_lanes", "vector_lanes"):
        return function is not None and (function.name == "matmul") == (parameter == "matmul_lanes")
    return parameter == "stages" or parameter.endswith(f".{cause.what}")


def without_work(netlist: Netlist, name: str) -> TimingOf:
    """The plans, but that the function of the operator ``name`` can begin anew in every cycle."""

    def timing_of(node: Node, function: Function, reduce: bool) -> Plan:
        found = plan_of(node, netlist.at(node))
        return Timing(1, found.latency, found.streams) if node.name == name else found

    return timing_of


def _parameters(fabric: FabricConfig, *, memory: bool) -> Iterator[tuple[str, int]]:
    """Parameters of the fabric, and of its memory where it is used, with better values than they have."""
    for name, value in (("matmul_lanes", 2 * fabric.matmul_lanes), ("vector_lanes", 2 * fabric.vector_lanes)):
        if value <= LIMITS[name].most:
            yield name, value
    for kind in (LANES, LINKS):
        owned = getattr(fabric, kind).items()
        yield from ((f"{kind}.{name}", 2 * own) for name, own in owned if fits(2 * own, NUMBERS[kind]))
    if fabric.stages > 1:
        yield "stages", 1
    if fabric.hop:
        yield "hop", 0
    if not memory:
        return
    for name, value in (("outstanding", 2 * fabric.outstanding), ("memory.channels", 2 * fabric.memory.channels)):
        if value <= LIMITS[name].most:
            yield name, value
    for name, value in (("memory.interval", fabric.memory.interval), ("memory.latency", fabric.memory.latency)):
        if value > 1:
            yield name, 1
