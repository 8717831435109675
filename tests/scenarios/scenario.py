"""Small programs around one operator each, as data: what every back end's tests run.

A scenario builds its program into a graph and returns the inputs. Streams are written as text (see
`step.language.tokens.parse`); an integer n of a stream of tiles stands for a tile whose scalars follow from n, and of a
stream of selectors for the mask n.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from step.language.dims import Dim
from step.language.dtypes import BOOL, INT8, INT32, UINT32
from step.language.faults import Fault
from step.language.graph import Graph
from step.language.stream import Stream
from step.language.tokens import Token, from_nested, parse
from step.language.types import ElementType, Tile, Tuple
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist, lower
from step.lowering.off_chip import MemoryConfig
from step.programs.data.inputs import BoundInputs, bind_inputs
from step.programs.program import Program

FABRIC = FabricConfig(
    matmul_lanes=8,
    vector_lanes=4,
    link_bytes=8,
    outstanding=3,
    scratchpad_bytes=64 * 28,
    scratchpad_banks=2,
    scratchpad_ports=3,
    page_bytes=64,
    memory=MemoryConfig(beat_bytes=4, channels=2, interval=2, latency=5),
)
"""Small enough to simulate anything, and with every parameter away from the trivial value."""

Inputs = dict[str, Any]


@dataclass(frozen=True)
class Scenario:
    """A program around one ``operator``.

    ``ordered`` is False where timing decides the order of the outputs.
    """

    name: str
    operator: str
    build: Callable[[Graph], Inputs]
    ordered: bool = True

    def __str__(self) -> str:
        return self.name

    def alone(self) -> Program:
        """The program in a graph of its own, on `FABRIC`."""
        graph = Graph("scenario")
        return Program(graph, self.build(graph), FABRIC)

    def lowered(self) -> tuple[Netlist, BoundInputs]:
        """Its netlist, and the data that comes in."""
        program = self.alone()
        netlist = lower(program.graph, FABRIC)
        return netlist, bind_inputs(netlist.graph, program.inputs)


SCENARIOS: list[Scenario] = []


def add(operator: str, what: str, build: Callable[[Graph], Inputs], *, ordered: bool = True) -> None:
    """Put a scenario on the list."""
    SCENARIOS.append(Scenario(f"{operator}-{what}", operator, build, ordered))


NUMBER = Tile(INT32)
ADDRESS = Tile(UINT32)


def element_value(number: int, element: ElementType) -> Any:
    """The element that ``number`` stands for."""
    if isinstance(element, Tile):
        count = int(element.elements)
        scalars = number + np.arange(count) * 3
        if element.dtype.is_float:
            scalars = (scalars % 64 - 32) / 8
        elif element.dtype == BOOL:
            scalars = scalars % 2
        elif element.dtype == INT8:
            scalars = scalars % 100
        return scalars.astype(element.dtype.numpy).reshape(element.shape)
    if isinstance(element, Tuple):
        return tuple(element_value(number, item) for item in element.items)
    return number


def tokens(text: str | list[Token], element: ElementType) -> list[Token]:
    """A stream of ``element`` from its text, or from tokens of integers."""
    parsed = parse(text) if isinstance(text, str) else text
    return [each._replace(value=element_value(each.value, element)) if each.has_value else each for each in parsed]


class Bench:
    """Adds sources to a graph, and keeps what they play."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.inputs: Inputs = {}

    def play(
        self, name: str, text: str | list[Token], dims: Sequence[Dim | int | str], element: ElementType = NUMBER
    ) -> Stream:
        """A source of shape ``dims`` (a text is a new symbol, ragged behind the first dimension)."""
        self.inputs[name] = tokens(text, element)
        return self.graph.source(name, element, self.dims(dims))

    def choose(self, name: str, text: str | list[Token], targets: int, dims: Sequence[Dim | int | str]) -> Stream:
        """A source of selectors."""
        self.inputs[name] = parse(text) if isinstance(text, str) else text
        return self.graph.selectors(name, targets, self.dims(dims))

    def dims(self, dims: Sequence[Dim | int | str]) -> list[Dim | int]:
        return [
            self.graph.symbol(each, ragged=position > 0) if isinstance(each, str) else each
            for position, each in enumerate(dims)
        ]


Builder = Callable[[Graph], Inputs]
"""Builds a program into a graph; returns its inputs."""


def builder(build: Callable[..., None]) -> Callable[..., Builder]:
    """``build`` gets a bench, and then what the builder is made with."""

    def made(*given: Any, **named: Any) -> Builder:
        def built(graph: Graph) -> Inputs:
            bench = Bench(graph)
            build(bench, *given, **named)
            return bench.inputs

        return built

    return made


def scenario(operator: str, what: str, *, ordered: bool = True) -> Callable[[Callable[[Bench], None]], None]:
    """Puts what it decorates on the list."""
    return lambda build: add(operator, what, builder(build)(), ordered=ordered)


def random_nested(random: Random, rank: int, most: int = 3, least: int = 0) -> Any:
    """Nested lists of integers (rank + 1 levels), each of ``least`` to ``most`` entries."""
    count = random.randint(least, most)
    if rank == 0:
        return [random.randrange(100) for _ in range(count)]
    return [random_nested(random, rank - 1, most, least) for _ in range(count)]


def random_stream(seed: int, rank: int, most: int = 3, least: int = 0) -> list[Token]:
    """A random stream of integers, with empties unless ``least`` is positive."""
    return from_nested(random_nested(Random(seed), rank, most, least), rank)


LETTERS = "NMLK"
"""Names of a stream's symbols, outermost first."""

STREAMS: list[tuple[str, int, str | list[Token]]] = [
    ("nothing", 0, "D"),
    ("one", 0, "7 D"),
    ("flat", 0, "1 2 3 4 5 D"),
    ("nothing", 1, "D"),
    ("rows", 1, "1 2 S1 3 S1 4 5 6 S1 D"),
    ("empties", 1, "E1 1 2 S1 E1 E1 3 S1 E1 D"),
    ("nested", 2, "1 2 S1 3 S2 4 S1 5 S1 6 S2 D"),
    ("empties", 2, "E1 1 S1 E1 S2 E2 E2 2 S1 E1 E1 3 S2 E1 E1 E1 S2 D"),
    ("all_empty", 2, "E2 E1 E1 S2 E1 E1 E1 S2 D"),
    ("random", 2, random_stream(1, 2, 4)),
    ("empties", 3, "E3 1 S1 2 S2 E1 E1 S3 E2 3 S3 E1 E1 S2 4 S2 E2 S3 E3 D"),
    ("random", 3, random_stream(2, 3)),
]
"""Streams that every operator of one input gets: name, rank, tokens."""


def dims_of(rank: int) -> list[str]:
    """A dynamic outermost dimension, and ragged ones."""
    return list(LETTERS[: rank + 1])


def single(
    operator: str, what: str, rank: int, text: str | list[Token], apply: Callable[[Stream], Stream | Sequence[Stream]],
    element: ElementType = NUMBER, dims: Sequence[Dim | int | str] | None = None,
) -> None:  # fmt: skip
    """A scenario of one source, one operator, and a sink at each of its outputs."""

    @scenario(operator, what)
    def _(bench: Bench) -> None:
        result = apply(bench.play("x", text, dims or dims_of(rank), element))
        for port, stream in enumerate([result] if isinstance(result, Stream) else result):
            stream.sink(f"y{port}")


def pair(operator: str, what: str, rank: int, text: str | list[Token], second: str | list[Token],
         elements: tuple[ElementType, ElementType], apply: Callable[[Stream, Stream], Stream]) -> None:  # fmt: skip
    """A scenario of two sources of the same shape."""

    @scenario(operator, what)
    def _(bench: Bench) -> None:
        dims = bench.dims(dims_of(rank))
        first = bench.play("x", text, dims, elements[0])
        apply(first, bench.play("w", second, dims, elements[1])).sink("y")


def renumbered(text: str | list[Token]) -> list[Token]:
    """The same stream with other values."""
    parsed = parse(text) if isinstance(text, str) else text
    return [each._replace(value=each.value * 7 + 11) if each.has_value else each for each in parsed]


@dataclass(frozen=True)
class Broken:
    """A program whose data makes ``operator`` meet ``fault``."""

    name: str
    operator: str
    fault: Fault
    build: Callable[[Graph], Inputs]

    def __str__(self) -> str:
        return self.name


BROKEN: list[Broken] = []


def broken(operator: str, what: str, fault: Fault, build: Callable[[Graph], Inputs]) -> None:
    """Put a broken program on the list."""
    BROKEN.append(Broken(f"{operator}-{what}", operator, fault, build))
