"""The program of a sweep, at any of its points."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol

import cloudpickle

from sim_approx.simulator import Simulator
from step.errors import InputError, SimulationError, UnboundSymbol
from step.language.symbols import replaced
from step.language.types import is_dynamic
from step.lowering.fabric import FABRIC, LIMITS, MEMORY, FabricConfig, is_of_fabric, with_settings
from step.lowering.feasible import lanes_of, with_lanes
from step.lowering.off_chip import MemoryConfig
from step.programs.data.inputs import BoundInputs, bind_inputs
from step.programs.files.digest import data_digest, fabric_digest, graph_digest
from step.programs.metrics import Metrics, metrics_of
from step.programs.prepare import open_program, prepare
from step.programs.program import Program, called, load_program
from step.running.interpreter import bind
from step.running.result import RunResult
from step_explore.areas import area_of
from step_explore.sweeps.axis import Point, Value

Arguments = tuple[tuple[str, Value], ...]
Depths = tuple[tuple[str, int], ...]


class Source(Hashable, Protocol):
    """Where the program of a sweep comes from; equal ones give equal programs."""

    def load(self, arguments: dict[str, Value]) -> Program:
        """The program with these ``arguments``; raises `InputError` for those that nobody takes."""
        ...


@dataclass(frozen=True)
class File:
    """A program as the command line names it."""

    spec: str

    def load(self, arguments: dict[str, Value]) -> Program:
        return load_program(self.spec, None, arguments)


@dataclass(frozen=True)
class Function:
    """A function that returns a program, ``pickled`` so that other processes have it too."""

    pickled: bytes

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Function:
        """Raises `InputError` for what holds something that no other process can have."""
        try:
            return cls(cloudpickle.dumps(function))
        except Exception as error:  # whatever the objects that it refers to raise
            raise InputError(f"{function!r} can not be sent to other processes: {error}") from None

    def load(self, arguments: dict[str, Value]) -> Program:
        return called(cloudpickle.loads(self.pickled), arguments)


@dataclass(frozen=True, eq=False)
class Held:
    """A ``program`` that is there."""

    program: Program

    def load(self, arguments: dict[str, Value]) -> Program:
        for name in arguments:
            raise InputError(f"the program {self.program.name} has no parameter {name!r}; a function has some")
        return self.program


@dataclass(frozen=True)
class Subject:
    """A program from its ``source``, with a file of ``inputs``, ``settings`` of the fabric, fixed ``arguments``, and
    ``depths`` of channels."""

    source: Source
    inputs: str | None = None
    settings: tuple[str, ...] = ()
    arguments: Arguments = ()
    depths: Depths = ()

    def at(self, point: Point) -> tuple[Ready, MemoryConfig]:
        """The program at ``point``, ready to run, and its memory.

        ``fabric.X`` and ``memory.X`` are parameters of the fabric, all others those of the program's function. Raises
        the errors of `load_program` and `step.lowering.fabric.with_settings`, `InputError` for data that does not
        fit.
        """
        made = self._made(point)
        fabric = self._fabric(made, point)
        ports = MemoryConfig(beat_bytes=fabric.memory.beat_bytes)
        return _ready(made, replace(fabric, memory=ports)), fabric.memory

    def digest(self, point: Point) -> str:
        """Another one for another program, other data, another fabric or other depths at ``point``; raises as `at`."""
        made = self._made(point)
        return made.digest + fabric_digest(self._fabric(made, point), made.program.graph.depths)

    def with_arguments(self, arguments: Arguments) -> Subject:
        """The same with further ``arguments``."""
        return replace(self, arguments=self.arguments + arguments)

    def program(self, point: Point) -> Program:
        """The program at ``point``, with its fabric; raises as `at`."""
        made = self._made(point)
        return replace(made.program, fabric=self._fabric(made, point))

    def _made(self, point: Point) -> Made:
        own = tuple((name, value) for name, value in point.items() if not is_of_fabric(name))
        return _made(self.source, self.inputs, self.arguments + own, self.depths)

    def _fabric(self, made: Made, point: Point) -> FabricConfig:
        return with_settings(made.program.fabric, [*self.settings, *_settings(point)])


@dataclass(frozen=True, eq=False)
class Made:
    """A ``program`` that a function made, with its ``data``."""

    program: Program
    data: BoundInputs

    @cached_property
    def digest(self) -> str:
        """Another one for another program, or other data."""
        return graph_digest(self.program.graph) + data_digest(self.program.graph, self.data)

    @cached_property
    def symbols(self) -> dict[str, int]:
        """The values of the symbols on the data; raises like `step.bind`."""
        return bind(self.program)


@dataclass(frozen=True, eq=False)
class Ready:
    """A program that is ``made``, on a fabric, for runs with any memory: neither metrics nor units depend on it."""

    made: Made
    simulator: Simulator

    @cached_property
    def metrics(self) -> Metrics:
        """Those of the program, in its symbols."""
        return metrics_of(prepare(self.simulator.netlist))

    @cached_property
    def hardware(self) -> dict[str, int]:
        """What can be said of it without a run."""
        netlist = self.simulator.netlist
        lanes = sum(lanes_of(node, netlist) for node in with_lanes(netlist))
        dynamic = any(is_dynamic(each.element) for each in netlist.graph.streams())
        return {"lanes": lanes, "lut_sites": round(area_of(netlist).lut_sites), "dynamic_tiles": dynamic}

    def measures(self, run: RunResult) -> tuple[dict[str, int], str | None]:
        """The metrics as far as they have values in a ``run``, and the hardware; and why metrics have none."""
        metrics, activity, unknown = self.metrics.items(), self.metrics.energy.activity, None
        symbols = dict[str, int]()
        try:
            if any(each.free_symbols for each in (*metrics.values(), *activity.values())):
                symbols = self.made.symbols if run.symbols is None else run.symbols
        except (UnboundSymbol, SimulationError) as error:
            unknown = first_line(error)
        # With numbers in the parts first: a sum of thousands of symbols is slow to multiply.
        parts = {name: replaced(each, symbols) for name, each in activity.items()}
        energy = replace(self.metrics.energy, activity=parts).total
        found = {**{name: replaced(each, symbols) for name, each in metrics.items()}, "energy": energy}
        known = {name: int(each.round()) for name, each in found.items() if not each.free_symbols}
        return {**known, **self.hardware, "useful_at_most": bool(self.metrics.at_most)}, unknown


def first_line(error: Exception) -> str:
    """Of what an error says: rows are lines."""
    return str(error).partition("\n")[0]


def _settings(point: Point) -> list[str]:
    """The parameters of the fabric; a preset of the memory comes before those that change it."""
    texts = [f"{name}={value}" for name, value in point.items() if is_of_fabric(name)]
    return sorted(texts, key=lambda text: not text.startswith(f"{MEMORY}="))


@lru_cache(maxsize=4)
def _made(source: Source, inputs: str | None, arguments: Arguments, depths: Depths) -> Made:
    """The program with ``arguments`` and ``depths``, once for all fabrics."""
    try:
        program = source.load(dict(arguments))
    except InputError as error:
        for name, _ in arguments:
            if name in LIMITS:
                error.add_note(f"  the parameter of the fabric is written {FABRIC}{name}")
        raise
    if inputs is not None:
        program = open_program(program, inputs=Path(inputs))
    data = bind_inputs(program.graph, program.inputs)
    return Made(replace(program, graph=replace(program.graph, depths={**program.graph.depths, **dict(depths)})), data)


@lru_cache(maxsize=4)
def _ready(made: Made, fabric: FabricConfig) -> Ready:
    """The program on ``fabric``, once for all memories whose ports have the same beats."""
    return Ready(made, Simulator(made.program, fabric=fabric, symbols=True))
