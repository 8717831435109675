"""The program of a sweep, at any of its points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

import sympy

from step.errors import InputError, SimulationError, UnboundSymbol
from step.language.symbols import replaced
from step.lowering.fabric import LIMITS, FabricConfig, MemoryConfig, with_settings
from step.programs.data.inputs import bind_inputs
from step.programs.files.digest import data_digest, graph_digest
from step.programs.metrics import metrics_of
from step.programs.prepare import prepare
from step.programs.program import Program, load_program
from step.running.interpreter import bind
from step.running.simulator import Simulator
from step.sweeps.axis import Point, Value

FABRIC, MEMORY = "fabric.", "memory"

Arguments = tuple[tuple[str, Value], ...]


@dataclass(frozen=True)
class Subject:
    """A program as the command line names it: its file, a file of ``inputs``, and ``settings`` of the fabric."""

    spec: str
    inputs: str | None = None
    settings: tuple[str, ...] = ()

    def at(self, point: Point) -> tuple[Ready, MemoryConfig]:
        """The program at ``point``, ready to run, and its memory.

        ``fabric.X`` and ``memory.X`` are parameters of the fabric, all others those of the program's function. Raises
        the errors of `load_program` and `step.lowering.fabric.with_settings`, `InputError` for data that does not
        fit.
        """
        arguments = tuple((name, value) for name, value in point.items() if not is_of_fabric(name))
        made = _made(self.spec, self.inputs, arguments)
        fabric = with_settings(made.program.fabric, [*self.settings, *_settings(point)])
        return _ready(made, replace(fabric, memory=MemoryConfig())), fabric.memory


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

    ``measures`` are its metrics as far as they have values, ``unknown`` is why the others have none.
    """

    simulator: Simulator
    measures: dict[str, int]
    unknown: str | None
    digest: str


def is_of_fabric(name: str) -> bool:
    """Whether the parameter is one of the fabric."""
    return name.startswith((FABRIC, f"{MEMORY}.")) or name == MEMORY


def first_line(error: Exception) -> str:
    """Of what an error says: rows are lines."""
    return str(error).partition("\n")[0]


def _settings(point: Point) -> list[str]:
    """The parameters of the fabric; a preset of the memory comes before those that change it."""
    texts = [f"{name.removeprefix(FABRIC)}={value}" for name, value in point.items() if is_of_fabric(name)]
    return sorted(texts, key=lambda text: not text.startswith(f"{MEMORY}="))


@lru_cache(maxsize=4)
def _made(spec: str, inputs: str | None, arguments: Arguments) -> Made:
    """The program with ``arguments``, once for all fabrics."""
    try:
        program = load_program(spec, None if inputs is None else Path(inputs), dict(arguments))
    except InputError as error:
        for name, _ in arguments:
            if name in LIMITS:
                error.add_note(f"  the parameter of the fabric is written {FABRIC}{name}")
        raise
    bind_inputs(program.graph, program.inputs)
    return Made(program)


@lru_cache(maxsize=4)
def _ready(made: Made, fabric: FabricConfig) -> Ready:
    """The program on ``fabric``, once for all memories: neither metrics nor units depend on it."""
    found = metrics_of(prepare(made.program, fabric=fabric)).items()
    try:
        symbols, unknown = made.symbols if any(each.free_symbols for each in found.values()) else {}, None
    except (UnboundSymbol, SimulationError) as error:
        symbols, unknown = {}, first_line(error)
    measures = {
        name: _number(each, symbols) for name, each in found.items() if unknown is None or not each.free_symbols
    }
    return Ready(Simulator(made.program, fabric=fabric), measures, unknown, made.digest)


def _number(expression: sympy.Expr, symbols: dict[str, int]) -> int:
    return int(replaced(expression, symbols))
