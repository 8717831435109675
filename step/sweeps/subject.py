"""The program of a sweep, at any of its points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from step.errors import InputError
from step.lowering.fabric import LIMITS, FabricConfig
from step.lowering.settings import with_settings
from step.programs.digest import data_digest, graph_digest
from step.programs.inputs import BoundInputs, bind_inputs
from step.programs.program import Program, load_program
from step.running.binding import bind
from step.sweeps.axis import Point, Value

FABRIC, MEMORY = "fabric.", "memory"


@dataclass(frozen=True)
class Subject:
    """A program as the command line names it: its file, a file of ``inputs``, and ``settings`` of the fabric."""

    spec: str
    inputs: str | None = None
    settings: tuple[str, ...] = ()

    def at(self, point: Point) -> tuple[Made, FabricConfig]:
        """The program at ``point``, and its fabric: ``fabric.X`` and ``memory.X`` are parameters of the latter, all
        others those of the program's function.

        Raises the errors of `load_program` and `step.lowering.settings.with_settings`, `InputError` for data that does
        not fit.
        """
        made = _made(self.spec, self.inputs, tuple((n, v) for n, v in point.items() if not is_of_fabric(n)))
        return made, with_settings(made.program.fabric, [*self.settings, *_settings(point)])


@dataclass(frozen=True)
class Made:
    """A ``program``, and its ``data``, which was checked."""

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


def is_of_fabric(name: str) -> bool:
    """Whether the parameter is one of the fabric."""
    return name.startswith((FABRIC, f"{MEMORY}.")) or name == MEMORY


def _settings(point: Point) -> list[str]:
    """The parameters of the fabric; a preset of the memory comes before those that change it."""
    texts = [f"{name.removeprefix(FABRIC)}={value}" for name, value in point.items() if is_of_fabric(name)]
    return sorted(texts, key=lambda text: not text.startswith(f"{MEMORY}="))


@lru_cache(maxsize=4)
def _made(spec: str, inputs: str | None, arguments: tuple[tuple[str, Value], ...]) -> Made:
    """The program with ``arguments``, once for all fabrics."""
    try:
        program = load_program(spec, None if inputs is None else Path(inputs), dict(arguments))
    except InputError as error:
        for name, _ in arguments:
            if name in LIMITS:
                error.add_note(f"  the parameter of the fabric is written {FABRIC}{name}")
        raise
    return Made(program, bind_inputs(program.graph, program.inputs))
