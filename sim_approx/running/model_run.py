"""A run of the timing model, to whatever end it came, and all that is left of it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from sim_approx.engine.events import Ending, Events
from sim_approx.placing.build import PlacedFabric
from step.errors import Deadlock, Runaway, SimulationError, StreamFault
from step.lowering.netlist import Netlist
from step.running.contracts import ShapeChecks, first_fault, stream_fault
from step.running.deadlock import Snapshot
from step.running.result import Activity, ChannelEvents, ChannelResult, OperatorResult, RunResult, Status
from step.running.traffic import traffic

Values = Literal["control", "all"]
EngineName = Literal["compiled", "python"]


@dataclass(frozen=True)
class ModelRun:
    """A run that came to its ``ending`` and went on until nothing moved, with all that is left of it.

    That is in the ``fabric``, until another run begins in it; a `result` stays. ``netlist`` has the depths of the run.
    ``engine`` ran, the Python one for the ``reason`` if nobody asked for it. ``again`` runs with other depths.
    """

    netlist: Netlist
    fabric: PlacedFabric
    checks: ShapeChecks
    ending: Ending
    events: Events | None
    values: Values
    seconds: float
    engine: EngineName
    reason: str | None
    max_cycles: int | None
    again: Callable[[Mapping[str, int]], ModelRun]
    shown: ShapeChecks | None = None

    @cached_property
    def symbols(self) -> dict[str, int] | None:
        """The values of the program's symbols; None: nobody asked, or the run failed, or does not show them all."""
        return None if self.shown is None or self.error is not None else self.shown.symbols(self.checks)

    def snapshot(self) -> Snapshot:
        """The state at the end, as the report of a deadlock needs it."""
        channels = list(zip(self.netlist.channels, self.fabric.channels, strict=True))
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
            found[node.name] = stream_fault(node, violation.fault, heads, self.netlist)
        return found

    @cached_property
    def error(self) -> SimulationError | None:
        """What is wrong with the run; of a deadlock it says when."""
        if fault := first_fault(self.netlist.graph, self.faults(), self.checks.broken):
            return fault
        if self.ending.status == Status.DEADLOCK:
            return Deadlock(f"nothing moves any more from cycle {self.ending.cycles} on")
        if self.ending.status == Status.RUNAWAY:
            return Runaway(f"the run did not end within {self.max_cycles} cycles; raise max_cycles if that is too few")
        return self.checks.disagreement()

    def result(self) -> RunResult:
        """The counters, outputs and events as plain data."""
        netlist, fabric, ending = self.netlist, self.fabric, self.ending
        page, all_pages = netlist.fabric.page_bytes, fabric.shares.all_pages
        operators = {}
        for name, machine in fabric.units.items():
            starved, busy, blocked, finished = ending.activities[machine]
            operators[name] = OperatorResult(busy, starved, blocked, finished, ending.firings[machine])
        return RunResult(
            backend="approx",
            program=netlist.graph.name,
            status=ending.status,
            cycles=ending.cycles,
            outputs={name: list(each) for name, each in fabric.outputs.items()} | fabric.tensors.outputs()
            if self.values == "all"
            else None,
            operators=operators,
            channels={
                each.name: ChannelResult(*ending.entered[channel], channel.capacity)
                for each, channel in zip(netlist.channels, fabric.channels, strict=True)
            },
            wall_seconds=self.seconds,
            buffers={name: page * ending.entered[each.held][1] for name, each in fabric.shares.by_filler.items()},
            buffer_bytes=0 if all_pages is None else page * ending.entered[all_pages][1],
            most_rows=fabric.tallest,
            traffic={} if fabric.memory is None else traffic(netlist, [each.granted for each in fabric.ports]),
            arrivals={name: list(each) for name, each in fabric.arrivals.items()},
            engine=self.engine,
            engine_reason=self.reason,
            jumped_cycles=ending.jumped,
            symbols=self.symbols,
            events=None if self.events is None else _events(netlist, self.events, ending.cycles),
        )


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
