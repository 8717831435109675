"""One run of the timing model, to whatever end it comes, and all that is left of it."""

from __future__ import annotations

import time
from bisect import bisect_left
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from sim_approx.build import Fabric, TimingOf, build_fabric
from sim_approx.engine import Ending, Events
from sim_approx.engines import Chosen, EngineName, make_engine
from sim_approx.explain.record import Record
from step.errors import FabricError, SimulationError, StreamFault
from step.lowering.netlist import Netlist
from step.programs.inputs import BoundInputs
from step.running.deadlock import Snapshot
from step.running.promises import Promises, timed_promises
from step.running.result import Activity, ChannelEvents, ChannelResult, OperatorResult, RunResult, Status
from step.running.stream_fault import stream_fault

Values = Literal["control", "all"]


@dataclass(frozen=True)
class Simulation:
    """A run that came to its ``ending`` and went on until nothing moved, with all that is left of it."""

    fabric: Fabric
    promises: Promises
    ending: Ending
    events: Events | None
    values: Values
    seconds: float
    chosen: Chosen

    def snapshot(self) -> Snapshot:
        """The state at the end, as the report of a deadlock needs it."""
        channels = list(zip(self.fabric.netlist.channels, self.fabric.channels, strict=True))
        return Snapshot(
            self.ending.cycles,
            {name: Activity(machine.activity) for name, machine in self.fabric.units.items()},
            {each.name: len(channel.tokens) for each, channel in channels},
            {each.name: channel.capacity for each, channel in channels},
            {name: len(each.held.tokens) for name, each in self.fabric.shares.by_filler.items()},
        )

    def faults(self) -> dict[str, StreamFault]:
        """By unit, the error that the interpreter gives for the same tokens."""
        found = {}
        for machine, violation in self.ending.faults:
            heads = {
                port: (channel.taken, channel.tokens[0])
                for port, channel in enumerate(machine.inputs)
                if channel.tokens
            }
            heads |= {port: (machine.inputs[port].taken - 1, token) for port, token in machine.unfinished().items()}
            node = self.fabric.owners[machine]
            found[node.name] = stream_fault(node, violation.fault, heads, self.fabric.netlist.fabric)
        return found

    def result(self, error: SimulationError | None = None) -> RunResult:
        """The counters, outputs and events as plain data; ``error`` says what is wrong with the run."""
        netlist, fabric, ending = self.fabric.netlist, self.fabric, self.ending
        page, all_pages = netlist.fabric.page_bytes, fabric.shares.all_pages
        operators = {}
        for name, machine in fabric.units.items():
            starved, busy, blocked, finished = ending.activities[machine]
            operators[name] = OperatorResult(busy, starved, blocked, finished, ending.firings[machine])
        return RunResult(
            backend="approx",
            program=netlist.graph.name,
            status=Status.FAULT if isinstance(error, StreamFault) else ending.status,
            cycles=ending.cycles,
            outputs=fabric.outputs | fabric.tensors.outputs() if self.values == "all" else None,
            operators=operators,
            channels={
                each.name: ChannelResult(*ending.entered[channel], channel.capacity)
                for each, channel in zip(netlist.channels, fabric.channels, strict=True)
            },
            wall_seconds=self.seconds,
            buffers={name: page * ending.entered[each.held][1] for name, each in fabric.shares.by_filler.items()},
            buffer_bytes=0 if all_pages is None else page * ending.entered[all_pages][1],
            arrivals=fabric.arrivals,
            error=None if error is None else str(error),
            engine=self.chosen.name,
            engine_reason=self.chosen.reason,
            events=None if self.events is None else _events(netlist, self.events, ending.cycles),
        )


def simulate(
    netlist: Netlist,
    data: BoundInputs,
    *,
    values: Values = "control",
    events: bool = False,
    max_cycles: int | None = None,
    timing_of: TimingOf | None = None,
    engine: EngineName | None = None,
    record: Record | None = None,
) -> Simulation:
    """Run ``netlist`` to whatever end it comes; see `sim_approx.backend.run` for the options.

    ``record`` gets what every firing waited for; the Python engine runs then.
    """
    if values == "all":
        computing = frozenset(node.name for node in netlist.units)
    elif values == "control":
        computing = netlist.deciding
    else:
        raise FabricError(f'values must be "control" or "all", not {values!r}')
    fabric = build_fabric(netlist, data, computing, timing_of)
    promises = timed_promises(netlist.graph, data)
    watch = {
        channel: partial(promises.see, each.name)
        for each, channel in zip(netlist.channels, fabric.channels, strict=True)
        if each.name in promises.checkers and each.name not in data.streams
    }
    chosen = make_engine(fabric, watch, engine, outputs=values == "all", record=record)
    kept: Events | None = {each.index: ([], [], []) for each in netlist.channels} if events else None
    start = time.perf_counter()
    ending = chosen.engine.run(max_cycles, kept)
    return Simulation(fabric, promises, ending, kept, values, time.perf_counter() - start, chosen)


def _events(netlist: Netlist, events: Events, end: int) -> dict[str, ChannelEvents]:
    """What entered and left the channels of the program before the cycle ``end``."""
    found = {}
    for each in netlist.channels:
        cycles, control, leaves = events[each.index]
        count = bisect_left(cycles, end)
        found[each.name] = ChannelEvents(
            np.array(cycles[:count], np.int64),
            np.array(control[:count], np.int32),
            np.array(leaves[: bisect_left(leaves, end)], np.int64),
        )
    return found
