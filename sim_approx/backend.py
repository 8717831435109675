"""The fast back end: the same cycle for every token as the RTL, without building it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property, partial
from typing import Any

from sim_approx.compiled.engine import CompiledEngine
from sim_approx.engine.events import EventLog, PythonEngine, Watch, Watcher
from sim_approx.engine.record import Counted, RunRecord
from sim_approx.placing.build import build_fabric
from sim_approx.placing.site import PlacedFabric, TimingOf
from sim_approx.running.footprint import Footprint
from sim_approx.running.model_run import EngineName, ModelRun, Values
from step.errors import EnvironmentProblem, InputError, SettingError
from step.firing.terms import RuleError
from step.host.library import NotYet
from step.host.progress import Progress, silent
from step.language.graph import Graph
from step.language.tokens import Token
from step.language.types import has_rows
from step.language.validate import check_outputs
from step.lowering.fabric import FabricConfig
from step.lowering.memory import same_addresses
from step.lowering.netlist import Netlist
from step.lowering.off_chip import MemoryConfig
from step.programs.data.inputs import BoundInputs
from step.programs.prepare import Prepared, prepare
from step.running.backend import Backend
from step.running.contracts import ShapeChecks, symbol_checks, timed_checks
from step.running.interpreter import OnToken
from step.running.options import checked_options
from step.running.result import RunResult


def run(
    program: Prepared | Netlist | Graph,
    inputs: Mapping[str, Any] | BoundInputs | None = None,
    fabric: FabricConfig | None = None,
    *,
    values: Values = "control",
    events: bool = False,
    max_cycles: int | None = None,
    depths: Mapping[str, int] | None = None,
    timing_of: TimingOf | None = None,
    engine: EngineName | None = None,
    jump: bool = True,
    progress: Progress = silent,
    on_token: OnToken | None = None,
) -> RunResult:
    """Run ``program`` on ``inputs`` (see `step.programs.data.inputs.bind_inputs`) and return times and counts.

    ``values``: ``"all"`` computes every value, so that there are outputs; ``"control"`` only those that decide what
    some unit does. ``events`` keeps the cycle and control of every token. ``depths`` replaces the depth of channels, by
    their name in the netlist. ``timing_of`` replaces the plans of functions.

    ``engine``: ``"compiled"`` or ``"python"``. Without one the compiled engine runs, and the Python engine where it can
    not be made, or is not yet, which the result says with the reason. What is not yet is made behind the run, which
    begins again on it once it is there; runs with ``on_token``, and where the environment has ``STEP_BACKGROUND=0``,
    wait. Where a phase of the run repeats itself, the compiled engine
    counts the repetitions, and does not go through them: the result is the same without ``jump``, and later there.
    ``progress`` is told cycle and speed of long runs, ``on_token`` of every token that leaves through a sink, at most
    some 0.1 s after it did; it needs all values.

    Raises `StreamFault`, `Deadlock` and `Runaway` (more than ``max_cycles`` cycles), each with the result up to there
    as its ``result``; `FabricError` for what the fabric can not do, and for depths of channels that do not exist;
    `EnvironmentProblem` where the compiled engine was asked for and can not be made.
    """
    model = Model.of(prepare(program, inputs, fabric), values=values, timing_of=timing_of, engine=engine, jump=jump)
    ended = model.run(depths=depths, events=events, max_cycles=max_cycles, progress=progress, on_token=on_token)
    return ended.finished()


APPROX = Backend(run, timed=True)

SAID_AFTER = 1.0
"""Seconds from one line of progress to the next one."""


class _Overtaken(Exception):
    """A run on the Python engine is not wanted any more, as there is a compiled one now."""


@dataclass(eq=False)
class Model:
    """``netlist`` with ``data``, ready for any number of runs, one after the other (options: `run`).

    What it takes to begin is made once where the compiled engine runs: other depths of channels, and another memory
    in which everything has the same address, are changes of a few numbers there. On the Python engine, and for a memory
    with other addresses, every run makes a fabric. ``symbols``: runs show their values (`step.Simulator`); ``jump`` is
    that of runs which say nothing else.
    """

    netlist: Netlist
    data: BoundInputs
    _: KW_ONLY
    values: Values = "control"
    timing_of: TimingOf | None = None
    engine: EngineName | None = None
    jump: bool = True
    symbols: bool = False

    def __post_init__(self) -> None:
        self._made: tuple[PlacedFabric, PythonEngine | CompiledEngine] | None = None
        self._reason: Exception | None = None

    @classmethod
    def of(cls, prepared: Prepared, **options: Any) -> Model:
        """The model of what is ``prepared``; raises `InputError` for bad options."""
        checked_options(options)
        check_outputs(prepared.graph)
        return cls(prepared.netlist, prepared.data, **options)

    def with_data(self, data: BoundInputs) -> Model:
        """Another model of the same program, with other ``data``."""
        return replace(self, data=data)

    @cached_property
    def _promised(self) -> ShapeChecks:
        """The checks of what is promised; those of sources are done."""
        return timed_checks(self.netlist.graph, self.data)

    @cached_property
    def _showing(self) -> ShapeChecks | None:
        """The checks of what else shows symbols."""
        return symbol_checks(self.netlist.graph, self.data, self._promised) if self.symbols else None

    @cached_property
    def _footprint(self) -> Footprint:
        return Footprint(self.netlist, self._promised.checkers)

    def run(
        self,
        notes: Counted | RunRecord | None = None,
        *,
        depths: Mapping[str, int] | None = None,
        memory: MemoryConfig | None = None,
        events: bool = False,
        max_cycles: int | None = None,
        jump: bool | None = None,
        progress: Progress = silent,
        on_token: OnToken | None = None,
    ) -> ModelRun:
        """Run to whatever end it comes, with other ``depths`` of channels, by name, and another ``memory``.

        What the last run left in the fabric is gone then. ``on_token`` as in `run`. ``notes`` get what machines did
        when, or what every firing waited for; nothing is jumped over then. Raises `FabricError` for depths that can not
        be, `InputError` where there are no values to tell of, and `EnvironmentProblem` for a run that does not fit into
        memory, and where the compiled engine can not be and was asked for, or is to take ``notes``, with the reason.
        """
        if on_token is not None and self.values != "all":
            raise InputError('the fast model computes what leaves through sinks with values="all"; on_token needs that')
        held = self.values == "all" and self.engine != "python"
        if events or held:
            self._footprint.check(values=held, events=events, max_cycles=max_cycles)
        checks = self._checks = self._promised.copy()
        shown = self._shown = self._showing and self._showing.copy()
        netlist = self.netlist.with_depths(depths) if depths else self.netlist
        netlist = netlist if memory is None else netlist.with_memory(memory)
        wait = self.engine is not None or notes is not None or on_token is not None
        fabric, engine = self._made = self._ready(netlist, progress, wait)
        log = EventLog() if events else None
        jump = self.jump if jump is None else jump
        telling = _Telling(progress, on_token, netlist, fabric.outputs, self._reason)
        again = partial(self.run, memory=memory, max_cycles=max_cycles, jump=jump)
        start = time.perf_counter()
        if isinstance(engine, CompiledEngine):
            ending = engine.run(max_cycles, log, telling.told, jump, notes)
        elif notes is None:
            try:
                ending = engine.run(max_cycles, log, telling.told)
            except _Overtaken:
                return again(depths=depths, events=events, progress=progress)
        else:
            raise EnvironmentProblem(
                f"{notes.noun} is made by the compiled engine alone, and here the Python engine runs: "
                f"{self._reason or 'it was asked for'}"
            )
        if on_token is not None:
            telling.look(on_token)
        return ModelRun(
            netlist,
            fabric,
            checks,
            ending,
            log,
            values=self.values,
            seconds=time.perf_counter() - start,
            engine="compiled" if isinstance(engine, CompiledEngine) else "python",
            reason=None if self._reason is None else str(self._reason),
            max_cycles=max_cycles,
            again=lambda others: again(depths={**(depths or {}), **others}),
            shown=shown,
        )

    def _ready(
        self, netlist: Netlist, progress: Progress, wait: bool
    ) -> tuple[PlacedFabric, PythonEngine | CompiledEngine]:
        """A fabric with what ``netlist`` has, in which a run can begin, and the fastest engine that there is for it."""
        if self._made is not None:
            fabric, engine = self._made
            before, memory = fabric.netlist.fabric.memory, netlist.fabric.memory
            same_kind = (before.dram is None) == (memory.dram is None) and before.bus == memory.bus
            if isinstance(engine, CompiledEngine) and same_kind and same_addresses(before, memory):
                fabric.change(netlist)
                return fabric, engine
        computing = frozenset(node.name for node in netlist.units) if self.values == "all" else netlist.deciding
        fabric = build_fabric(netlist, self.data, computing, self.timing_of)
        shown = {} if self._shown is None else self._shown.checkers
        watch = {
            channel: Watcher(partial(self._see, each.name), each.name in shown and has_rows(each.type.element))
            for each, channel in zip(netlist.channels, fabric.channels, strict=True)
            if each.name in {**self._checks.checkers, **shown} and each.name not in self.data.streams
        }
        return fabric, self._compiled(fabric, watch, progress, wait) or PythonEngine(fabric, watch)

    def _compiled(self, fabric: PlacedFabric, watch: Watch, progress: Progress, wait: bool) -> CompiledEngine | None:
        """The compiled engine, unless another one is wanted, or it can not be, which is the reason for that one."""
        self._reason = None
        if self.engine == "python":
            return None
        try:
            return CompiledEngine(fabric, watch, outputs=self.values == "all", progress=progress, wait=wait)
        except SettingError:
            raise
        except (EnvironmentProblem, RuleError) as error:
            if self.engine == "compiled":
                raise EnvironmentProblem(f"the compiled engine can not run this program: {error}") from error
            self._reason = error
            return None

    def _see(self, name: str, token: Token) -> None:
        for checks in (self._checks, self._shown):
            if checks is not None and name in checks.checkers:
                checks.see(name, token)


@dataclass
class _Telling:
    """Says, once a second, how far a run of ``netlist`` has come and how fast, and tells each token of its sinks, which
    ``outputs`` get, to ``on_token``. Ends the run where ``reason``, that for the Python engine, does not hold any more.
    """

    progress: Progress
    on_token: OnToken | None
    netlist: Netlist
    outputs: Mapping[str, list[Token]]
    reason: Exception | None

    def __post_init__(self) -> None:
        self._tokens, self._time = 0, time.perf_counter()
        self._told = dict.fromkeys((each.name for each in self.netlist.units if each.operator.hands_out), 0)

    def told(self, cycle: int, tokens: int) -> None:
        """See `sim_approx.engine.events.Told`."""
        if isinstance(self.reason, NotYet) and self.reason.builder.made:
            raise _Overtaken
        now = time.perf_counter()
        if now - self._time >= SAID_AFTER:
            rate = (tokens - self._tokens) / (now - self._time)
            self.progress(f"cycle {cycle:,}, {rate:,.0f} tokens/s")
            self._tokens, self._time = tokens, now
        if self.on_token is not None:
            self.look(self.on_token)

    def look(self, on_token: OnToken) -> None:
        """Tell ``on_token`` of the tokens that left since the last time."""
        for name, count in self._told.items():
            for token in self.outputs[name][count:]:
                self._told[name] += 1
                on_token(name, token)


def simulate(
    netlist: Netlist, data: BoundInputs, *, events: bool = False, max_cycles: int | None = None, **options: Any
) -> ModelRun:
    """Run ``netlist`` once, to whatever end it comes; ``options`` are those of `Model`."""
    return Model(netlist, data, **options).run(events=events, max_cycles=max_cycles)
