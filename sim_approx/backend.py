"""The fast back end: the same cycle for every token as the RTL, without building it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from sim_approx.build import Fabric, TimingOf, build_fabric
from sim_approx.depths import clearing_depths
from sim_approx.engine import Ending, Engine, Log
from sim_approx.values import computing_units
from step.deadlock import Snapshot, report
from step.errors import Deadlock, FabricError, Runaway, SimulationError
from step.fabric import FabricConfig
from step.faults import stream_fault
from step.graph import Graph
from step.inputs import BoundInputs, bind_inputs
from step.netlist import Netlist, lower
from step.result import Activity, ChannelEvents, ChannelResult, OperatorResult, RunResult, Status, control_word

Values = Literal["control", "all"]


def run(
    program: Graph | Netlist,
    inputs: Mapping[str, Any] | BoundInputs,
    fabric: FabricConfig | None = None,
    *,
    values: Values = "control",
    events: bool = False,
    max_cycles: int | None = None,
    depths: Mapping[str, int] | None = None,
    timing_of: TimingOf | None = None,
) -> RunResult:
    """Run ``program`` on ``inputs`` (see `step.inputs.bind_inputs`) and return times and counts.

    ``values``: ``"all"`` computes every value, so that there are outputs; ``"control"`` only those that decide what
    some unit does. ``events`` keeps the cycle and control of every token. ``depths`` replaces the depth of channels, by
    their name in the netlist. ``timing_of`` replaces the formulas for how long functions take.

    Raises `StreamFault`, `Deadlock` and `Runaway` (more than ``max_cycles`` cycles), each with the result up to there
    as its ``result``; `FabricError` for what the fabric can not do, and for depths of channels that do not exist.
    """
    netlist = _netlist(program, fabric, depths or {})
    bound = bind_inputs(netlist.graph, inputs)
    simulation = simulate(netlist, bound, values=values, events=events, max_cycles=max_cycles, timing_of=timing_of)
    status = simulation.ending.status
    if status == Status.FINISHED:
        return simulation.result(None)
    if status == Status.DEADLOCK:
        snapshot = simulation.snapshot()
        depths = depths_that_clear(netlist, bound, snapshot, max_cycles=max_cycles, timing_of=timing_of)
        error: SimulationError = Deadlock(report(netlist, snapshot, depths))
    elif status == Status.RUNAWAY:
        error = Runaway(f"the run did not end within {max_cycles} cycles; raise max_cycles if that is too few")
    else:
        error = simulation.fault()
    error.result = simulation.result(str(error))
    raise error


def depths_that_clear(
    netlist: Netlist,
    data: BoundInputs,
    snapshot: Snapshot,
    *,
    max_cycles: int | None = None,
    timing_of: TimingOf | None = None,
) -> dict[str, int]:
    """The smallest depths, by channel, that get ``netlist`` past the deadlock of ``snapshot``; empty: none do."""

    def rerun(depths: Mapping[str, int]) -> Simulation:
        return simulate(_with_depths(netlist, depths), data, max_cycles=max_cycles, timing_of=timing_of)

    return clearing_depths(netlist, snapshot, rerun)


@dataclass(frozen=True)
class Simulation:
    """A run that came to its ``ending``, with all that is left of it."""

    fabric: Fabric
    ending: Ending
    log: Log | None
    values: Values
    seconds: float

    def snapshot(self) -> Snapshot:
        """The state at the end, as the report of a deadlock needs it."""
        channels = list(zip(self.fabric.netlist.channels, self.fabric.channels, strict=True))
        return Snapshot(
            self.ending.cycles,
            {name: Activity(machine.activity) for name, machine in self.fabric.units.items()},
            {each.name: len(channel.tokens) for each, channel in channels},
            {each.name: channel.capacity for each, channel in channels},
        )

    def fault(self) -> SimulationError:
        """The error that the interpreter gives for the same tokens."""
        machine, violation = self.ending.machine, self.ending.violation
        assert machine is not None and violation is not None
        node = next(node for node in self.fabric.netlist.units if self.fabric.units[node.name] is machine)
        heads = {
            port: (channel.taken, channel.tokens[0]) for port, channel in enumerate(machine.inputs) if channel.tokens
        }
        return stream_fault(node, violation.fault, heads)

    def result(self, error: str | None) -> RunResult:
        """The counters, outputs and events as plain data."""
        netlist, fabric = self.fabric.netlist, self.fabric
        operators = {}
        for name, machine in fabric.units.items():
            starved, busy, blocked, finished = machine.cycles_in
            operators[name] = OperatorResult(busy, starved, blocked, finished, machine.firings)
        return RunResult(
            backend="approx",
            program=netlist.graph.name,
            status=self.ending.status,
            cycles=self.ending.cycles,
            outputs=fabric.outputs if self.values == "all" else None,
            operators=operators,
            channels={
                each.name: ChannelResult(channel.entered, channel.peak, channel.capacity)
                for each, channel in zip(netlist.channels, fabric.channels, strict=True)
            },
            wall_seconds=self.seconds,
            arrivals=fabric.arrivals,
            error=error,
            events=None if self.log is None else _events(netlist, self.log),
        )


def simulate(
    netlist: Netlist,
    data: BoundInputs,
    *,
    values: Values = "control",
    events: bool = False,
    max_cycles: int | None = None,
    timing_of: TimingOf | None = None,
) -> Simulation:
    """Run ``netlist`` to whatever end it comes; see `run` for the options."""
    if values == "all":
        computing = frozenset(node.name for node in netlist.units)
    elif values == "control":
        computing = computing_units(netlist)
    else:
        raise FabricError(f'values must be "control" or "all", not {values!r}')
    fabric = build_fabric(netlist, data, computing, timing_of)
    engine = Engine(fabric.machines, fabric.all_channels, fabric.clock, fabric.memory)
    log: Log | None = [] if events else None
    start = time.perf_counter()
    ending = engine.run(max_cycles, log)
    engine.finish(ending)
    return Simulation(fabric, ending, log, values, time.perf_counter() - start)


def _netlist(program: Graph | Netlist, fabric: FabricConfig | None, depths: Mapping[str, int]) -> Netlist:
    if isinstance(program, Netlist):
        if fabric is not None and fabric != program.fabric:
            raise FabricError("the netlist was made for another fabric; lower the graph again")
        return _with_depths(program, depths)
    return _with_depths(lower(program, fabric or FabricConfig()), depths)


def _with_depths(netlist: Netlist, depths: Mapping[str, int]) -> Netlist:
    """``netlist`` with other channel depths; raises `FabricError` for names and depths that can not be."""
    names = {channel.name for channel in netlist.channels}
    for name, depth in depths.items():
        if name not in names:
            raise FabricError(f"there is no channel {name!r}; there are {', '.join(sorted(names))}")
        if not isinstance(depth, int) or depth < 2:
            raise FabricError(f"the depth of channel {name!r} must be an integer >= 2, not {depth!r}")
    channels = tuple(replace(each, depth=depths.get(each.name, each.depth)) for each in netlist.channels)
    return Netlist(netlist.graph, netlist.fabric, netlist.units, channels)


def _events(netlist: Netlist, log: Log) -> dict[str, ChannelEvents]:
    cycles: list[list[int]] = [[] for _ in netlist.channels]
    control: list[list[int]] = [[] for _ in netlist.channels]
    for cycle, entries in log:
        for channel, token in entries:
            if channel.index >= 0:
                cycles[channel.index].append(cycle)
                control[channel.index].append(control_word(token))
    return {
        each.name: ChannelEvents(np.array(cycles[each.index], np.int64), np.array(control[each.index], np.int32))
        for each in netlist.channels
    }
