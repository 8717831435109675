"""A run of the timing model, to whatever end it came, and all that is left of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from sim_approx.engine.events import EVENT, Ending, EventLog
from sim_approx.placing.site import PlacedFabric
from step.errors import Deadlock, Runaway, SimulationError, StreamFault
from step.firing.machine import UNLIMITED
from step.lowering.netlist import DEEPEST, Netlist
from step.running.contracts import ShapeChecks, first_fault, overflow, stream_fault
from step.running.deadlock import Snapshot, full_channels, report
from step.running.result import (
    Activity,
    ChannelEvents,
    ChannelResult,
    OperatorResult,
    RunResult,
    Status,
    channel_events,
)
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
    log: EventLog | None
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

    def events(self, end: int = UNLIMITED) -> dict[str, ChannelEvents] | None:
        """Tokens that entered and left the channels of the program before the cycle ``end``, if they were logged."""
        if self.log is None:
            return None
        names = [each.name for each in self.netlist.channels]
        return channel_events(names, np.array(self.log.entered, EVENT), np.array(self.log.left, EVENT), end)

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
        """The error of the run; of a deadlock it says when."""
        if fault := first_fault(self.netlist.graph, self.faults(), self.checks.broken):
            return fault
        if self.ending.status == Status.DEADLOCK:
            return Deadlock(f"nothing moves any more from cycle {self.ending.cycles} on")
        if self.ending.status == Status.RUNAWAY:
            return Runaway(f"the run did not end within {self.max_cycles} cycles; raise max_cycles if that is too few")
        return self.checks.disagreement()

    def finished(self) -> RunResult:
        """The `result`; raises the error of a run that failed, of a deadlock with the depths that clear it."""
        result = self.result()
        error = self.error or overflow(self.netlist, result.traffic)
        if isinstance(error, Deadlock):
            snapshot = self.snapshot()
            error = Deadlock(report(self.netlist, snapshot, clearing_depths(self.netlist, snapshot, self.again)))
        if error is not None:
            error.result = _failed(result, error)
            raise error
        return result

    def attempted(self) -> RunResult:
        """The `result`, whose ``status`` and ``error`` say so if the run failed."""
        result = self.result()
        error = self.error or overflow(self.netlist, result.traffic)
        return result if error is None else _failed(result, error)

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
            most_rows={
                node.name: fabric.units[node.name].tallest  # type: ignore[attr-defined]
                for node in netlist.units
                if node.operator.makes_rows(node)
            },
            traffic={} if fabric.memory is None else traffic(netlist, [each.granted for each in fabric.ports]),
            arrivals={name: list(each) for name, each in fabric.arrivals.items()},
            engine=self.engine,
            engine_reason=self.reason,
            jumped_cycles=ending.jumped,
            symbols=self.symbols,
            events=self.events(ending.cycles),
        )


def _failed(result: RunResult, error: SimulationError) -> RunResult:
    """``result`` of a run that ``error`` ended."""
    status = Status.FAULT if isinstance(error, StreamFault) else result.status
    return replace(result, status=status, error=str(error))


def clearing_depths(
    netlist: Netlist, snapshot: Snapshot, rerun: Callable[[Mapping[str, int]], ModelRun]
) -> dict[str, int]:
    """Depths, by channel, with which ``netlist`` gets past its deadlock; empty if there are none.

    First every channel that is found full gets unlimited depth, until the run ends. Then one channel after the other,
    those on the cycle of waits last, gets its old depth back if the others are enough, and else the smallest
    depth with which the run still ends: none of the depths returned can be lowered alone.
    """
    asked = {each.name: each.depth for each in netlist.channels}
    depths: dict[str, int] = {}
    while True:
        full = [each.name for each in full_channels(netlist, snapshot) if each.name not in depths]
        if not full:
            return {}
        depths.update(dict.fromkeys(full, DEEPEST))
        free = rerun(depths)
        if free.ending.status != Status.DEADLOCK:
            break
        snapshot = free.snapshot()

    def ends(name: str, depth: int) -> bool:
        return rerun({**depths, name: depth}).ending.status != Status.DEADLOCK

    peaks = {each.name: channel.peak for each, channel in zip(netlist.channels, free.fabric.channels, strict=True)}
    for name in reversed(list(depths)):
        if ends(name, asked[name]):
            depths[name] = asked[name]
            continue
        too_small, enough = asked[name], max(peaks[name], asked[name] + 1)
        while not ends(name, enough):
            too_small, enough = enough, 2 * enough
        while enough - too_small > 1:
            middle = (too_small + enough) // 2
            if ends(name, middle):
                enough = middle
            else:
                too_small = middle
        depths[name] = enough
    return {name: depth for name, depth in depths.items() if depth != asked[name]}
