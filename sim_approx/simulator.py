"""A program that is lowered and made ready once, and runs many times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sim_approx.build import TimingOf
from sim_approx.calibration.file import Calibration
from sim_approx.calibration.lookup import calibrated
from sim_approx.depths import clearing_depths
from sim_approx.engines import EngineName, check_engine
from sim_approx.simulation import Prepared, Simulation, Values, check_values
from step.errors import Deadlock, FabricError, Runaway, SimulationError, StreamFault
from step.host.progress import Progress, silent
from step.language.graph import Graph
from step.language.validate import check_outputs
from step.lowering.fabric import FabricConfig, MemoryConfig
from step.lowering.netlist import Netlist, lower
from step.programs.inputs import BoundInputs, bind_inputs
from step.running.deadlock import report
from step.running.result import RunResult, Status
from step.running.stream_fault import first_fault

Rerun = Callable[[Mapping[str, int]], Simulation]
"""Runs once more, with other depths of some channels."""


class Simulator:
    """``program`` on the fast model; see `sim_approx.backend.run` for the options and errors.

    Runs of the same data have one beginning, in which depths and memory are changed (`Prepared`). Several threads may
    run at once: each has a fabric of its own.
    """

    def __init__(
        self,
        program: Graph | Netlist,
        inputs: Mapping[str, Any] | BoundInputs,
        fabric: FabricConfig | None = None,
        *,
        values: Values = "control",
        timing_of: TimingOf | None = None,
        calibration: Path | str | None = None,
        engine: EngineName | None = None,
        jump: bool = True,
    ) -> None:
        check_values(values)
        check_engine(engine)
        self.netlist = _netlist(program, fabric)
        check_outputs(self.netlist.graph)
        self._data = bind_inputs(self.netlist.graph, inputs)
        if calibration is not None:
            measured = calibrated(Calibration.load(Path(calibration)), self.netlist, self._data)
            self.netlist, timing_of = measured.netlist, measured.timing_of
        self._values, self._timing_of, self._engine, self._jump = values, timing_of, engine, jump
        self._idle: list[Prepared] = []

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
    ) -> RunResult:
        """Run with ``inputs``, ``depths`` of channels, ``memory`` and ``jump`` in the place of those that are there.

        ``progress`` is told cycle and speed of long runs; what it raises ends the run.

        Raises what `sim_approx.backend.run` raises.
        """
        ran = self._ran(inputs, depths, memory, events, max_cycles, jump, progress)
        with ran as (simulation, rerun):
            result = simulation.result()
            raise_failure(simulation, result, max_cycles, rerun)
        return result

    def attempt(
        self,
        inputs: Mapping[str, Any] | BoundInputs | None = None,
        *,
        depths: Mapping[str, int] | None = None,
        memory: MemoryConfig | None = None,
        events: bool = False,
        max_cycles: int | None = None,
        jump: bool | None = None,
        progress: Progress = silent,
    ) -> RunResult:
        """As `run`, but a run that fails is a result like others, whose ``status`` and ``error`` say so.

        Of a deadlock the error says when, and not what would clear it, as that takes many more runs.
        """
        with self._ran(inputs, depths, memory, events, max_cycles, jump, progress) as (simulation, _):
            error, result = _error(simulation, max_cycles), simulation.result()
        return result if error is None else _failed(result, error)

    @contextmanager
    def _ran(
        self,
        inputs: Mapping[str, Any] | BoundInputs | None,
        depths: Mapping[str, int] | None,
        memory: MemoryConfig | None,
        events: bool,
        max_cycles: int | None,
        jump: bool | None,
        progress: Progress,
    ) -> Iterator[tuple[Simulation, Rerun]]:
        """The run that was asked for, and what runs it again with other depths; what it left is there meanwhile."""
        jump = self._jump if jump is None else jump
        with self._prepared(inputs) as prepared:

            def rerun(others: Mapping[str, int]) -> Simulation:
                return prepared.run({**(depths or {}), **others}, memory, max_cycles=max_cycles, jump=jump)

            simulation = prepared.run(
                depths, memory, events=events, max_cycles=max_cycles, jump=jump, progress=progress
            )
            yield simulation, rerun

    @contextmanager
    def _prepared(self, inputs: Mapping[str, Any] | BoundInputs | None) -> Iterator[Prepared]:
        """What can run, and is nobody else's meanwhile; kept for the next run if it has the simulator's own data."""
        if inputs is not None:
            yield self._prepare(bind_inputs(self.netlist.graph, inputs))
            return
        try:
            prepared = self._idle.pop()
        except IndexError:
            prepared = self._prepare(self._data)
        yield prepared
        self._idle.append(prepared)

    def _prepare(self, data: BoundInputs) -> Prepared:
        return Prepared(self.netlist, data, values=self._values, timing_of=self._timing_of, engine=self._engine)


def raise_failure(simulation: Simulation, result: RunResult, max_cycles: int | None, rerun: Rerun) -> None:
    """Raise what is wrong with a run that has this ``result``; ``rerun`` runs it with other depths of channels."""
    error = _error(simulation, max_cycles)
    if isinstance(error, Deadlock):
        netlist, snapshot = simulation.netlist, simulation.snapshot()
        error = Deadlock(report(netlist, snapshot, clearing_depths(netlist, snapshot, rerun)))
    if error is not None:
        error.result = _failed(result, error)
        raise error


def _error(simulation: Simulation, max_cycles: int | None) -> SimulationError | None:
    """What is wrong with a run, or None."""
    status, cycles = simulation.ending.status, simulation.ending.cycles
    if fault := first_fault(simulation.netlist.graph, simulation.faults(), simulation.promises.broken):
        return fault
    if status == Status.DEADLOCK:
        return Deadlock(f"nothing moves any more from cycle {cycles} on")
    if status == Status.RUNAWAY:
        return Runaway(f"the run did not end within {max_cycles} cycles; raise max_cycles if that is too few")
    return simulation.promises.disagreement()


def _failed(result: RunResult, error: SimulationError) -> RunResult:
    """``result`` of a run that ``error`` ended."""
    status = Status.FAULT if isinstance(error, StreamFault) else result.status
    return replace(result, status=status, error=str(error))


def _netlist(program: Graph | Netlist, fabric: FabricConfig | None) -> Netlist:
    if isinstance(program, Netlist):
        if fabric is not None and fabric != program.fabric:
            raise FabricError("the netlist was made for another fabric; lower the graph again")
        return program
    return lower(program, fabric or FabricConfig())
