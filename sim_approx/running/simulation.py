"""Runs of the timing model, to whatever end they come, and all that is left of them."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

import numpy as np

from sim_approx.compiled.engine import CompiledEngine
from sim_approx.compiled.rule import RuleError
from sim_approx.engine.events import Ending, Engine, Events, Watch, Watcher
from sim_approx.engine.profile import Counted
from sim_approx.engine.record import Record
from sim_approx.engine.recording import RecordingEngine
from sim_approx.placing.build import Fabric, TimingOf, build_fabric
from sim_approx.running.footprint import Footprint
from sim_approx.running.telling import Leaving, Speed
from step.errors import (
    Deadlock,
    EnvironmentProblem,
    InputError,
    Runaway,
    SettingError,
    SimulationError,
    StreamFault,
)
from step.host.progress import Progress, silent
from step.language.tokens import Token
from step.language.types import has_rows
from step.lowering.netlist import Netlist
from step.lowering.off_chip import MemoryConfig
from step.lowering.regions import same_addresses
from step.programs.data.inputs import BoundInputs
from step.running.contracts import ShapeChecks, first_fault, stream_fault, symbol_checks, timed_checks
from step.running.deadlock import Snapshot
from step.running.interpreter import OnToken
from step.running.result import Activity, ChannelEvents, ChannelResult, OperatorResult, RunResult, Status
from step.running.traffic import traffic

Values = Literal["control", "all"]
EngineName = Literal["compiled", "python"]


@dataclass(frozen=True)
class Simulation:
    """A run that came to its ``ending`` and went on until nothing moved, with all that is left of it.

    That is in the ``fabric``, until another run begins in it; a `result` stays. ``netlist`` has the depths of the run.
    ``engine`` ran, the Python one for the ``reason`` if nobody asked for it.
    """

    netlist: Netlist
    fabric: Fabric
    checks: ShapeChecks
    ending: Ending
    events: Events | None
    values: Values
    seconds: float
    engine: EngineName
    reason: str | None
    max_cycles: int | None
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


class Model:
    """``netlist`` with ``data``, ready to run any number of times, one after the other; see `simulate` for the options.

    What it takes to begin is made once where the compiled engine runs: other depths of channels, and another memory
    in which everything has the same address, are changes of a few numbers there. On the Python engine, and for a memory
    with other addresses, every run makes a fabric.
    """

    def __init__(
        self,
        netlist: Netlist,
        data: BoundInputs,
        *,
        values: Values = "control",
        timing_of: TimingOf | None = None,
        engine: EngineName | None = None,
        record: Record | None = None,
        symbols: bool = False,
    ) -> None:
        self._netlist, self._data, self._values = netlist, data, values
        self._timing_of, self._wanted, self._record = timing_of, engine, record
        self._checks = self._checks_of_sources = timed_checks(netlist.graph, data)
        self._shown = self._shown_by_sources = symbol_checks(netlist.graph, data, self._checks) if symbols else None
        self._made: tuple[Fabric, Engine | CompiledEngine] | None = None
        self._reason: str | None = None

    @cached_property
    def _footprint(self) -> Footprint:
        return Footprint(self._netlist, self._checks_of_sources.checkers)

    def run(
        self,
        depths: Mapping[str, int] | None = None,
        memory: MemoryConfig | None = None,
        *,
        events: bool = False,
        max_cycles: int | None = None,
        jump: bool = True,
        progress: Progress = silent,
        on_token: OnToken | None = None,
        counted: Counted | None = None,
    ) -> Simulation:
        """Run to whatever end it comes, with other ``depths`` of channels, by name, and another ``memory``.

        What the last run left in the fabric is gone then. ``on_token`` as in `sim_approx.backend.run`. ``counted`` gets
        what machines did when; nothing is jumped over then. Raises
        `FabricError` for depths that can not be, `InputError` where there are no values to tell of, and
        `EnvironmentProblem` for a run that does not fit into memory, and where the compiled engine was asked for and
        can not be, with the reason.
        """
        if on_token is not None and self._values != "all":
            raise InputError('the fast model computes what leaves through sinks with values="all"; on_token needs that')
        held = self._values == "all" and self._wanted != "python"
        if events or held:
            self._footprint.check(values=held, events=events, max_cycles=max_cycles)
        netlist = self._netlist.with_depths(depths or {}).with_memory(memory or self._netlist.fabric.memory)
        fabric, engine = self._made = self._ready(netlist)
        checks = self._checks = self._checks_of_sources.copy()
        shown = self._shown = None if self._shown_by_sources is None else self._shown_by_sources.copy()
        logged: Events | None = {each.index: ([], [], []) for each in netlist.channels} if events else None
        speed = Speed(progress)
        leaving = None if on_token is None else Leaving(netlist, fabric.outputs, on_token)

        def told(cycle: int, tokens: int) -> None:
            speed.told(cycle, tokens)
            if leaving is not None:
                leaving.look()

        start = time.perf_counter()
        if isinstance(engine, CompiledEngine):
            ending = engine.run(max_cycles, logged, told, jump, counted, self._record)
        else:
            ending = engine.run(max_cycles, logged, told, jump, counted)
        if leaving is not None:
            leaving.look()
        seconds = time.perf_counter() - start
        ran: EngineName = "compiled" if isinstance(engine, CompiledEngine) else "python"
        said = self._values, seconds, ran, self._reason, max_cycles
        return Simulation(netlist, fabric, checks, ending, logged, *said, shown)

    def _ready(self, netlist: Netlist) -> tuple[Fabric, Engine | CompiledEngine]:
        """A fabric with what ``netlist`` has, in which a run can begin, and the fastest engine that there is for it."""
        if self._made is not None:
            fabric, engine = self._made
            before, memory = fabric.netlist.fabric.memory, netlist.fabric.memory
            same_kind = (before.dram is None) == (memory.dram is None) and before.bus == memory.bus
            if isinstance(engine, CompiledEngine) and same_kind and same_addresses(before, memory):
                fabric.change(netlist)
                return fabric, engine
        computing = frozenset(node.name for node in netlist.units) if self._values == "all" else netlist.deciding
        fabric = build_fabric(netlist, self._data, computing, self._timing_of)
        shown = {} if self._shown is None else self._shown.checkers
        watch = {
            channel: Watcher(partial(self._see, each.name), each.name in shown and has_rows(each.type.element))
            for each, channel in zip(netlist.channels, fabric.channels, strict=True)
            if each.name in {**self._checks.checkers, **shown} and each.name not in self._data.streams
        }
        parts = fabric.machines, fabric.all_channels, fabric.clock, fabric.memory, watch
        if compiled := self._compiled(fabric, watch):
            return fabric, compiled
        return fabric, Engine(*parts) if self._record is None else RecordingEngine(*parts, self._record)

    def _compiled(self, fabric: Fabric, watch: Watch) -> CompiledEngine | None:
        """The compiled engine, unless another one is wanted, or it can not be, which is the reason for that one."""
        if self._wanted == "python":
            return None
        try:
            return CompiledEngine(fabric.machines, fabric.all_channels, watch, outputs=self._values == "all")
        except SettingError:
            raise
        except (EnvironmentProblem, RuleError) as error:
            if self._wanted == "compiled":
                raise EnvironmentProblem(f"the compiled engine can not run this program: {error}") from error
            self._reason = str(error)
            return None

    def _see(self, name: str, token: Token) -> None:
        if name in self._checks.checkers:
            self._checks.see(name, token)
        if self._shown is not None and name in self._shown.checkers:
            self._shown.see(name, token)


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
    jump: bool = True,
) -> Simulation:
    """Run ``netlist`` once, to whatever end it comes; see `sim_approx.backend.run` for the options.

    ``record`` gets what every firing waited for.
    """
    model = Model(netlist, data, values=values, timing_of=timing_of, engine=engine, record=record)
    return model.run(events=events, max_cycles=max_cycles, jump=jump)


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
