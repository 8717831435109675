"""The fast model of one program, made ready once and run many times."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from threading import Event
from typing import Any

from sim_approx.backend import Model
from sim_approx.engine.record import Counted
from sim_approx.running.model_run import ModelRun
from step.errors import InputError
from step.host.progress import Progress, silent
from step.language.parameters import Count, settled
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist
from step.lowering.off_chip import MemoryConfig
from step.programs.data.inputs import bind_inputs
from step.programs.prepare import Inputs, Openable, open_program, prepare
from step.running.backend import Run
from step.running.options import options_for
from step.running.profile import RunProfile
from step.running.result import RunResult


class Simulator:
    """Program that is ready to run on the fast model, with other data, depths of channels and memories.

    The program is checked, lowered and made ready once; where the compiled engine runs, a run costs little more than
    its firings then. Several threads may run at once.

    ``program``: a `Program`, a `Graph` or the name of a file.
    ``inputs``: data by name, or an .npz file, in the place of the program's own.
    ``fabric``: a `FabricConfig` in the place of the program's own.
    ``values``: "all" computes outputs; by default only what decides cycles is computed.
    ``engine``: "compiled" or "python".
    ``jump``: False goes through all repetitions of a regular phase, to the same end.
    ``symbols``: True gives results the values of symbols, where a run shows them without going through repetitions for
    it.

    Raises what `run` raises.

    >>> simulator = step.Simulator(program)
    >>> simulator.run().cycles, simulator.run(depths={"x": 8}).cycles, simulator.run({"x": [[1, 2, 3]] * 4}).cycles
    (32, 32, 56)
    """

    def __init__(
        self, program: Openable, *, inputs: Inputs | None = None, fabric: FabricConfig | None = None, **options: Any
    ) -> None:
        asked = options_for(Model, options, "step.Simulator")
        self.program = open_program(program, inputs=inputs, fabric=fabric)
        self._model = Model.of(prepare(self.program), **asked)
        self._idle = [self._model]

    @property
    def netlist(self) -> Netlist:
        """The units and channels that run."""
        return self._model.netlist

    def run(self, inputs: Inputs | None = None, **options: Any) -> Run:
        """Run with ``inputs``, or with the data that is there.

        ``depths`` of channels, by name, and ``memory`` replace those of the fabric in this run, and ``jump`` that of
        the simulator; ``events`` and ``max_cycles`` are those of `run`. Raises what `run` raises.
        """
        return self._run(ModelRun.finished, inputs, options)

    def attempt(self, inputs: Inputs | None = None, **options: Any) -> Run:
        """Like `run`, but a run that fails is one like others: the ``status`` and ``error`` of its ``result`` say so.

        Of a deadlock the error says when, and not what would clear it, as that takes many more runs.
        """
        return self._run(ModelRun.attempted, inputs, options)

    def attempts(self, changes: Iterable[Mapping[str, Any]], *, threads: int | None = None) -> Iterator[Run]:
        """`attempt` with each of ``changes``, arguments by name, in turn; so many ``threads`` run them, or all cores.

        >>> [run.cycles for run in simulator.attempts({"depths": {"x": depth}} for depth in (2, 4))]
        [32, 32]
        """
        workers = os.cpu_count() if threads is None else settled(threads, Count, "threads", InputError)
        given = settled(changes, Iterable[Any], "changes", InputError)
        wanted = [settled(change, Mapping, "each of the changes", InputError) for change in given]
        pool, left = ThreadPoolExecutor(workers), Event()

        def go_on(text: str) -> None:
            if left.is_set():
                raise KeyboardInterrupt

        try:
            yield from pool.map(lambda change: self.attempt(progress=go_on, **change), wanted)
        finally:
            left.set()
            pool.shutdown(cancel_futures=True)

    def profile(self, inputs: Inputs | None = None, **options: Any) -> RunProfile:
        """Activity of operators and off-chip memory in at most so many ``intervals`` (400) of a run.

        ``depths`` and ``memory`` as in `run`. Nothing is jumped over. Raises what `run` raises, and
        `EnvironmentProblem` where there is no compiled engine.

        >>> simulator.profile(intervals=4).busy("x").tolist()
        [0.5, 0.25, 0.125, 0.0]
        """
        asked = options_for(self._profile, options, "a profile of step.Simulator")
        return self._profile(inputs, **asked)

    def _profile(
        self,
        inputs: Inputs | None,
        *,
        intervals: int = 400,
        depths: Mapping[str, int] | None = None,
        memory: MemoryConfig | None = None,
        progress: Progress = silent,
    ) -> RunProfile:
        """Run twice: an interval has a length when that of the run is known."""
        data = None if inputs is None else open_program(self.program, inputs=inputs).inputs
        with self._ready(data) as model:
            cycles = model.run(depths=depths, memory=memory, progress=progress).finished().cycles
            counted = Counted(max(1, -(-cycles // intervals)), cycles)
            fabric = model.run(counted, depths=depths, memory=memory, progress=progress).fabric
        operators = {name: counted.spent[machine.order] for name, machine in fabric.units.items()}
        return RunProfile(cycles, counted.width, operators, counted.beats)

    def _run(self, ended: Callable[[ModelRun], RunResult], inputs: Inputs | None, options: Mapping[str, Any]) -> Run:
        """A run whose result, or error, ``ended`` gives."""
        asked = options_for(Model.run, options, "a run of step.Simulator")
        program, memory = self.program, asked.get("memory")
        if memory is not None:
            program = replace(program, fabric=replace(program.fabric, memory=memory))
        if inputs is not None:
            program = open_program(program, inputs=inputs)
        with self._ready(None if inputs is None else program.inputs) as model:
            return Run(program, ended(model.run(**asked)))

    @contextmanager
    def _ready(self, data: Mapping[str, Any] | None) -> Iterator[Model]:
        """A model that is nobody else's meanwhile; kept for the next run if it has the simulator's own data."""
        if data is not None:
            yield self._model.with_data(bind_inputs(self.netlist.graph, data))
            return
        try:
            model = self._idle.pop()
        except IndexError:
            model = self._model.with_data(self._model.data)
        yield model
        self._idle.append(model)
