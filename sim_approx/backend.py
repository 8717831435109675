"""The fast back end: the same cycle for every token as the RTL, without building it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

from sim_approx.engine.profile import Counted
from sim_approx.placing.build import TimingOf
from sim_approx.running.depths import Rerun, clearing_depths
from sim_approx.running.simulation import EngineName, Model, Simulation, Values
from step.errors import Deadlock, SimulationError, StreamFault
from step.host.progress import Progress, silent
from step.language.graph import Graph
from step.language.validate import check_outputs
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist
from step.lowering.off_chip import MemoryConfig
from step.programs.data.inputs import BoundInputs, bind_inputs
from step.programs.prepare import Prepared, prepare
from step.running.backend import Backend, checked_options
from step.running.deadlock import report
from step.running.interpreter import OnToken
from step.running.profile import Profile
from step.running.result import RunResult, Status
from step.running.room import overflow


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
    not be made, which the result says with the reason. Where a phase of the run repeats itself, the compiled engine
    counts the repetitions, and does not go through them: the result is the same without ``jump``, and later there.
    ``progress`` is told cycle and speed of long runs, ``on_token`` of every token that leaves through a sink, at most
    some 0.1 s after it did; it needs all values.

    Raises `StreamFault`, `Deadlock` and `Runaway` (more than ``max_cycles`` cycles), each with the result up to there
    as its ``result``; `FabricError` for what the fabric can not do, and for depths of channels that do not exist;
    `EnvironmentProblem` where the compiled engine was asked for and can not be made.
    """
    simulator = Simulator(program, inputs, fabric, values=values, timing_of=timing_of, engine=engine, jump=jump)
    return simulator.run(depths=depths, events=events, max_cycles=max_cycles, progress=progress, on_token=on_token)


APPROX = Backend(run, timed=True)

INTERVALS = 400
"""Of a profile, unless there are others."""


class Simulator:
    """``program`` on the fast model; see `sim_approx.backend.run` for the options and errors.

    Runs of the same data have one beginning, in which depths and memory are changed (`Model`). Several threads may
    run at once: each has a fabric of its own.
    """

    def __init__(
        self,
        program: Prepared | Netlist | Graph,
        inputs: Mapping[str, Any] | BoundInputs | None = None,
        fabric: FabricConfig | None = None,
        *,
        values: Values = "control",
        timing_of: TimingOf | None = None,
        engine: EngineName | None = None,
        jump: bool = True,
        symbols: bool = False,
    ) -> None:
        checked_options({"values": values, "engine": engine})
        prepared = prepare(program, inputs, fabric)
        self.netlist = prepared.netlist
        check_outputs(prepared.graph)
        self._data = prepared.data
        self._model = partial(Model, values=values, timing_of=timing_of, engine=engine, symbols=symbols)
        self._jump = jump
        self._idle: list[Model] = []

    def run(
        self,
        inputs: Mapping[str, Any] | BoundInputs | None = None,
        *,
        depths: Mapping[str, int] | None = None,
        memory: MemoryConfig | None = None,
        events: bool = False,
        max_cycles: int | None = None,
        jump: bool | None = None,
        progress: Progress = silent,
        on_token: OnToken | None = None,
    ) -> RunResult:
        """Run with ``inputs``, ``depths`` of channels, ``memory`` and ``jump`` in the place of those that are there.

        ``progress`` is told cycle and speed of long runs, ``on_token`` as in `sim_approx.backend.run`; what they raise
        ends the run.

        Raises what `sim_approx.backend.run` raises.
        """
        return self._run(True, inputs, depths, memory, events, max_cycles, jump, progress, on_token)

    def attempt(self, inputs: Mapping[str, Any] | BoundInputs | None = None, **options: Any) -> RunResult:
        """As `run`, but a run that fails is a result like others, whose ``status`` and ``error`` say so.

        Of a deadlock the error says when, and not what would clear it, as that takes many more runs.
        """
        return self._run(False, inputs, **options)

    def profile(
        self,
        inputs: Mapping[str, Any] | BoundInputs | None = None,
        *,
        intervals: int = INTERVALS,
        depths: Mapping[str, int] | None = None,
        memory: MemoryConfig | None = None,
        progress: Progress = silent,
    ) -> Profile:
        """What operators and memory did in at most so many ``intervals`` of a run as `run` makes it.

        It runs twice: an interval has a length when that of the run is known. Raises what `run` raises.
        """
        cycles = self.run(inputs, depths=depths, memory=memory, progress=progress).cycles
        counted = Counted(max(1, -(-cycles // intervals)), cycles)
        with self._ready(inputs) as model:
            fabric = model.run(depths, memory, progress=progress, counted=counted).fabric
        spent = {machine: counted.spent[place] for place, machine in enumerate(fabric.machines)}
        operators = {name: spent[machine] for name, machine in fabric.units.items()}
        return Profile(cycles, counted.width, operators, counted.beats)

    def _run(
        self,
        raises: bool,
        inputs: Mapping[str, Any] | BoundInputs | None,
        depths: Mapping[str, int] | None = None,
        memory: MemoryConfig | None = None,
        events: bool = False,
        max_cycles: int | None = None,
        jump: bool | None = None,
        progress: Progress = silent,
        on_token: OnToken | None = None,
    ) -> RunResult:
        again: Any = {"max_cycles": max_cycles, "jump": self._jump if jump is None else jump}
        with self._ready(inputs) as model:
            simulation = model.run(depths, memory, events=events, progress=progress, on_token=on_token, **again)
            result = simulation.result()
            error = simulation.error or overflow(simulation.netlist, result.traffic)
            if error is None:
                return result
            if raises:
                rerun = lambda others: model.run({**(depths or {}), **others}, memory, **again)  # noqa: E731
                raise_failure(error, simulation, result, rerun)
            return _failed(result, error)

    @contextmanager
    def _ready(self, inputs: Mapping[str, Any] | BoundInputs | None) -> Iterator[Model]:
        """What can run, and is nobody else's meanwhile; kept for the next run if it has the simulator's own data."""
        if inputs is not None:
            yield self._model(self.netlist, bind_inputs(self.netlist.graph, inputs))
            return
        try:
            model = self._idle.pop()
        except IndexError:
            model = self._model(self.netlist, self._data)
        yield model
        self._idle.append(model)


def raise_failure(error: SimulationError, simulation: Simulation, result: RunResult, rerun: Rerun) -> NoReturn:
    """Raise the ``error`` of a run that has this ``result``; ``rerun`` runs it with other depths of channels."""
    if isinstance(error, Deadlock):
        netlist, snapshot = simulation.netlist, simulation.snapshot()
        error = Deadlock(report(netlist, snapshot, clearing_depths(netlist, snapshot, rerun)))
    error.result = _failed(result, error)
    raise error


def _failed(result: RunResult, error: SimulationError) -> RunResult:
    """``result`` of a run that ``error`` ended."""
    status = Status.FAULT if isinstance(error, StreamFault) else result.status
    return replace(result, status=status, error=str(error))
