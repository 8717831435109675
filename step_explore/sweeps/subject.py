"""The program of a sweep, at any of its points."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import cloudpickle

from sim_approx.simulator import Simulator
from step.errors import InputError, SimulationError, UnboundSymbol
from step.host.paths import named_file
from step.language.graph import Graph
from step.language.parameters import plain, settled
from step.language.symbols import replaced
from step.language.types import is_dynamic
from step.lowering.fabric import FABRIC, LIMITS, MEMORY, FabricConfig, is_of_fabric, with_settings
from step.lowering.feasible import lanes_of, with_lanes
from step.lowering.off_chip import MemoryConfig
from step.programs.data.inputs import BoundInputs, bind_inputs
from step.programs.files.digest import data_digest, fabric_digest, graph_digest
from step.programs.metrics import Metrics, metrics_of
from step.programs.prepare import Openable, open_program, prepare
from step.programs.program import Program, called, load_program
from step.running.interpreter import bind
from step.running.result import RunResult
from step_explore.areas import area_of
from step_explore.sweeps.axis import Point, Value

Arguments = tuple[tuple[str, Value], ...]


@dataclass(frozen=True)
class Subject:
    """A program from its ``source``, with a file of ``inputs``, ``settings`` of the fabric, fixed ``arguments``, and
    ``depths`` of channels.

    ``source``: a file as the command line names it, the pickled bytes of a function that returns a program, or one that
    is there; equal ones give equal programs.
    """

    source: str | bytes | Loaded
    inputs: str | None = None
    settings: tuple[str, ...] = ()
    arguments: Arguments = ()
    depths: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, program: Openable | Callable[..., Any], **fixed: Any) -> Subject:
        """The subject of ``program``; raises `InputError` for a function that no other process can have."""
        if isinstance(program, Program):
            return cls(Loaded(program), **fixed)
        if not callable(program):
            return cls(str(named_file(program, "a program")), **fixed)
        try:
            return cls(cloudpickle.dumps(program), **fixed)
        except Exception as error:  # whatever the objects that it refers to raise
            raise InputError(f"{program!r} can not be sent to other processes: {error}") from None

    def at(self, point: Point) -> tuple[OnFabric, MemoryConfig]:
        """The program at ``point``, ready to run, and its memory.

        ``fabric.X`` and ``memory.X`` are parameters of the fabric, all others those of the program's function. Raises
        the errors of `load_program` and `step.lowering.fabric.with_settings`, `InputError` for data that does not
        fit.
        """
        loaded = self._loaded(point)
        fabric = self._fabric(loaded, point)
        ports = MemoryConfig(beat_bytes=fabric.memory.beat_bytes)
        return _on_fabric(loaded, replace(fabric, memory=ports)), fabric.memory

    def digest(self, point: Point) -> str:
        """Another one for another program, other data, another fabric or other depths at ``point``; raises as `at`."""
        loaded = self._loaded(point)
        return loaded.digest + fabric_digest(self._fabric(loaded, point), loaded.program.graph.depths)

    def with_arguments(self, arguments: Arguments) -> Subject:
        """The same with further ``arguments``."""
        return replace(self, arguments=self.arguments + arguments)

    def program(self, point: Point) -> Program:
        """The program at ``point``, with its fabric; raises as `at`."""
        loaded = self._loaded(point)
        return replace(loaded.program, fabric=self._fabric(loaded, point))

    def _loaded(self, point: Point) -> Loaded:
        own = tuple((name, value) for name, value in point.items() if not is_of_fabric(name))
        return _loaded(self.with_arguments(own))

    def _fabric(self, loaded: Loaded, point: Point) -> FabricConfig:
        """The fabric at ``point``; a preset of the memory comes before parameters that change it."""
        texts = [f"{name}={value}" for name, value in point.items() if is_of_fabric(name)]
        texts.sort(key=lambda text: not text.startswith(f"{MEMORY}="))
        return with_settings(loaded.program.fabric, [*self.settings, *texts])


@dataclass(frozen=True, eq=False)
class Loaded:
    """A ``program`` that is there, and its bound ``data``, where it is to run."""

    program: Program
    data: BoundInputs | None = None

    @cached_property
    def digest(self) -> str:
        """Another one for another program, or other data."""
        assert self.data is not None
        return graph_digest(self.program.graph) + data_digest(self.program.graph, self.data)

    @cached_property
    def symbols(self) -> dict[str, int]:
        """The values of the symbols on the data; raises like `step.bind`."""
        return bind(self.program)


@dataclass(frozen=True, eq=False)
class OnFabric:
    """A program on a fabric, for runs with any memory: neither metrics nor units depend on it."""

    loaded: Loaded
    simulator: Simulator

    @cached_property
    def metrics(self) -> Metrics:
        """Metrics of the program, in its symbols."""
        return metrics_of(prepare(self.simulator.netlist))

    @cached_property
    def hardware(self) -> dict[str, int]:
        """Measures that need no run."""
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
                symbols = self.loaded.symbols if run.symbols is None else run.symbols
        except (UnboundSymbol, SimulationError) as error:
            unknown = first_line(error)
        # With numbers in the parts first: a sum of thousands of symbols is slow to multiply.
        parts = {name: replaced(each, symbols) for name, each in activity.items()}
        energy = replace(self.metrics.energy, activity=parts).total
        found = {**{name: replaced(each, symbols) for name, each in metrics.items()}, "energy": energy}
        known = {name: int(each.round()) for name, each in found.items() if not each.free_symbols}
        return {**known, **self.hardware, "useful_at_most": bool(self.metrics.at_most)}, unknown


def first_line(error: Exception) -> str:
    """The first line of an error, as rows are lines."""
    return str(error).partition("\n")[0]


@contextmanager
def subjects(
    program: Openable | Callable[..., Any],
    inputs: Path | str | None,
    settings: Sequence[str],
    arguments: Mapping[str, Value] | None,
    scheduler: str | None,
    depths: Mapping[str, int] | None = None,
) -> Iterator[tuple[Subject, Subject]]:
    """``program`` for other processes as long as the sweep runs, and for its rows as long as these are."""
    given = settled({} if arguments is None else arguments, Mapping, "arguments", InputError)
    fixed = {
        "inputs": None if inputs is None else str(named_file(inputs, "input data")),
        "settings": tuple(settings),
        "arguments": tuple((name, plain(value)) for name, value in given.items()),
        "depths": tuple(settled({} if depths is None else depths, Mapping, "depths", InputError).items()),
    }
    if isinstance(program, Graph):
        program = Program(program)
    kept = Subject.of(program, **fixed)
    if not isinstance(program, Program):
        yield kept, kept
        return
    if scheduler is not None:
        raise InputError(
            "a sweep on a cluster needs the name of a file with a program, which all its machines can read, or a "
            "function"
        )
    with tempfile.TemporaryDirectory(prefix="step-sweep-") as directory:
        path = Path(directory) / f"{program.name}.json"
        program.save(path)
        yield replace(kept, source=str(path)), kept


@lru_cache(maxsize=4)
def _loaded(subject: Subject) -> Loaded:
    """The program with the arguments and depths of ``subject``, once for all fabrics."""
    try:
        program = _program(subject.source, dict(subject.arguments))
    except InputError as error:
        for name, _ in subject.arguments:
            if name in LIMITS:
                error.add_note(f"  the parameter of the fabric is written {FABRIC}{name}")
        raise
    if subject.inputs is not None:
        program = open_program(program, inputs=Path(subject.inputs))
    depths = {**program.graph.depths, **dict(subject.depths)}
    return Loaded(
        replace(program, graph=replace(program.graph, depths=depths)), bind_inputs(program.graph, program.inputs)
    )


def _program(source: str | bytes | Loaded, arguments: dict[str, Value]) -> Program:
    """The program with these ``arguments``; raises `InputError` for those that nobody takes."""
    if isinstance(source, str):
        return load_program(source, None, arguments)
    if isinstance(source, bytes):
        return called(cloudpickle.loads(source), arguments)
    for name in arguments:
        raise InputError(f"the program {source.program.name} has no parameter {name!r}; a function has some")
    return source.program


@lru_cache(maxsize=4)
def _on_fabric(loaded: Loaded, fabric: FabricConfig) -> OnFabric:
    """The program on ``fabric``, once for all memories whose ports have the same beats."""
    return OnFabric(loaded, Simulator(loaded.program, fabric=fabric, symbols=True))
