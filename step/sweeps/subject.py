"""The program of a sweep, at any of its points."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol

import cloudpickle
import sympy

from step.areas import area_of
from step.errors import InputError, SimulationError, UnboundSymbol
from step.language.symbols import replaced
from step.language.types import is_dynamic
from step.lowering.fabric import FABRIC, MEMORY, FabricConfig, is_of_fabric, with_settings
from step.lowering.feasible import lanes_of, with_lanes
from step.lowering.limits import LIMITS
from step.lowering.off_chip import MemoryConfig
from step.programs.data.inputs import bind_inputs
from step.programs.files.digest import data_digest, graph_digest
from step.programs.metrics import metrics_of
from step.programs.prepare import open_program, prepare
from step.programs.program import Program, called, load_program
from step.running.interpreter import bind
from step.running.simulator import Simulator
from step.sweeps.axis import Point, Value

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
        return _ready(made, replace(fabric, memory=MemoryConfig())), fabric.memory

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
    """A ``program`` that a function made, with its data."""

    program: Program

    @cached_property
    def digest(self) -> str:
        """Another one for another program, or other data."""
        graph = self.program.graph
        return graph_digest(graph) + data_digest(graph, bind_inputs(graph, self.program.inputs))

    @cached_property
    def symbols(self) -> dict[str, int]:
        """The values of the symbols on the data; raises like `step.bind`."""
        return bind(self.program)


@dataclass(frozen=True)
class Ready:
    """A program on a fabric, for runs with any memory.

    ``measures`` are its metrics as far as they have values, and what of the hardware can be said before a run;
    ``unknown`` is why metrics have none.
    """

    simulator: Simulator
    measures: dict[str, int]
    unknown: str | None
    digest: str


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
    bind_inputs(program.graph, program.inputs)
    return Made(replace(program, graph=replace(program.graph, depths={**program.graph.depths, **dict(depths)})))


@lru_cache(maxsize=4)
def _ready(made: Made, fabric: FabricConfig) -> Ready:
    """The program on ``fabric``, once for all memories: neither metrics nor units depend on it."""
    measured = metrics_of(prepare(made.program, fabric=fabric))
    parts = measured.energy.activity
    try:
        symbols, unknown = made.symbols if any(map(_open, (*measured.items().values(), *parts.values()))) else {}, None
    except (UnboundSymbol, SimulationError) as error:
        symbols, unknown = {}, first_line(error)
    # With numbers in the parts first: a sum of thousands of symbols is slow to multiply.
    energy = replace(measured.energy, activity={name: replaced(each, symbols) for name, each in parts.items()})
    found = {**{name: replaced(each, symbols) for name, each in measured.items().items()}, "energy": energy.total}
    measures = {name: int(each.round()) for name, each in found.items() if not _open(each)}
    measures["lanes"] = sum(lanes_of(node, measured.netlist) for node in with_lanes(measured.netlist))
    measures["lut_sites"] = round(area_of(measured.netlist).lut_sites)
    measures["dynamic_tiles"] = any(is_dynamic(each.element) for each in made.program.graph.streams())
    return Ready(Simulator(made.program, fabric=fabric), measures, unknown, made.digest)


def _open(expression: sympy.Expr) -> bool:
    return bool(expression.free_symbols)
