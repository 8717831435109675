"""The timing model of one program, which runs any number of times."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property, partial
from typing import Any

from sim_approx.compiled.engine import CompiledEngine
from sim_approx.engine.events import Events, PythonEngine, Watch, Watcher
from sim_approx.engine.profile import Counted
from sim_approx.engine.record import RunRecord
from sim_approx.engine.recording import RecordingEngine
from sim_approx.placing.build import PlacedFabric, TimingOf, build_fabric
from sim_approx.running.footprint import Footprint
from sim_approx.running.model_run import EngineName, ModelRun, Values
from sim_approx.running.telling import Leaving, Speed
from step.errors import EnvironmentProblem, InputError, SettingError
from step.firing.terms import RuleError
from step.host.progress import Progress, silent
from step.language.tokens import Token
from step.language.types import has_rows
from step.lowering.netlist import Netlist
from step.lowering.off_chip import MemoryConfig
from step.lowering.regions import same_addresses
from step.programs.data.inputs import BoundInputs
from step.running.contracts import symbol_checks, timed_checks
from step.running.interpreter import OnToken


@dataclass(eq=False)
class Model:
    """``netlist`` with ``data``, ready for any number of runs, one after the other (options: `sim_approx.backend.run`).

    What it takes to begin is made once where the compiled engine runs: other depths of channels, and another memory
    in which everything has the same address, are changes of a few numbers there. On the Python engine, and for a memory
    with other addresses, every run makes a fabric. ``record`` gets what every firing waited for; ``jump`` is that of
    runs which say nothing else.
    """

    netlist: Netlist
    data: BoundInputs
    _: KW_ONLY
    values: Values = "control"
    timing_of: TimingOf | None = None
    engine: EngineName | None = None
    record: RunRecord | None = None
    symbols: bool = False
    jump: bool = True

    def __post_init__(self) -> None:
        graph, data = self.netlist.graph, self.data
        self._checks = self._checks_of_sources = timed_checks(graph, data)
        self._shown = self._shown_by_sources = symbol_checks(graph, data, self._checks) if self.symbols else None
        self._made: tuple[PlacedFabric, PythonEngine | CompiledEngine] | None = None
        self._reason: str | None = None

    def with_data(self, data: BoundInputs) -> Model:
        """Another model of the same program, with other ``data``."""
        return replace(self, data=data)

    @cached_property
    def _footprint(self) -> Footprint:
        return Footprint(self.netlist, self._checks_of_sources.checkers)

    def run(
        self,
        counted: Counted | None = None,
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

        What the last run left in the fabric is gone then. ``on_token`` as in `sim_approx.backend.run`. ``counted`` gets
        what machines did when; nothing is jumped over then. Raises
        `FabricError` for depths that can not be, `InputError` where there are no values to tell of, and
        `EnvironmentProblem` for a run that does not fit into memory, and where the compiled engine was asked for and
        can not be, with the reason.
        """
        if on_token is not None and self.values != "all":
            raise InputError('the fast model computes what leaves through sinks with values="all"; on_token needs that')
        held = self.values == "all" and self.engine != "python"
        if events or held:
            self._footprint.check(values=held, events=events, max_cycles=max_cycles)
        netlist = self.netlist.with_depths(depths or {}).with_memory(memory or self.netlist.fabric.memory)
        fabric, engine = self._made = self._ready(netlist)
        checks = self._checks = self._checks_of_sources.copy()
        shown = self._shown = None if self._shown_by_sources is None else self._shown_by_sources.copy()
        logged: Events | None = {each.index: ([], [], []) for each in netlist.channels} if events else None
        jump = self.jump if jump is None else jump
        speed = Speed(progress)
        leaving = None if on_token is None else Leaving(netlist, fabric.outputs, on_token)

        def told(cycle: int, tokens: int) -> None:
            speed.told(cycle, tokens)
            if leaving is not None:
                leaving.look()

        start = time.perf_counter()
        if isinstance(engine, CompiledEngine):
            ending = engine.run(max_cycles, logged, told, jump, counted, self.record)
        else:
            ending = engine.run(max_cycles, logged, told, jump, counted)
        if leaving is not None:
            leaving.look()
        seconds = time.perf_counter() - start
        ran: EngineName = "compiled" if isinstance(engine, CompiledEngine) else "python"
        again = lambda others: self.run(  # noqa: E731
            depths={**(depths or {}), **others}, memory=memory, max_cycles=max_cycles, jump=jump
        )
        said = self.values, seconds, ran, self._reason, max_cycles, again
        return ModelRun(netlist, fabric, checks, ending, logged, *said, shown)

    def _ready(self, netlist: Netlist) -> tuple[PlacedFabric, PythonEngine | CompiledEngine]:
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
        parts = fabric.machines, fabric.all_channels, fabric.clock, fabric.memory, watch
        if compiled := self._compiled(fabric, watch):
            return fabric, compiled
        return fabric, PythonEngine(*parts) if self.record is None else RecordingEngine(*parts, self.record)

    def _compiled(self, fabric: PlacedFabric, watch: Watch) -> CompiledEngine | None:
        """The compiled engine, unless another one is wanted, or it can not be, which is the reason for that one."""
        if self.engine == "python":
            return None
        try:
            return CompiledEngine(fabric.machines, fabric.all_channels, watch, outputs=self.values == "all")
        except SettingError:
            raise
        except (EnvironmentProblem, RuleError) as error:
            if self.engine == "compiled":
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
    events: bool = False,
    max_cycles: int | None = None,
    jump: bool = True,
    **options: Any,
) -> ModelRun:
    """Run ``netlist`` once, to whatever end it comes; ``options`` are those of `Model`."""
    return Model(netlist, data, **options).run(events=events, max_cycles=max_cycles, jump=jump)
