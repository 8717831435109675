"""A program around one operator, of which somebody makes the choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeVar

from meaning.nested import Nested, inside

from step.language.dims import Dim
from step.language.dtypes import BF16, BOOL, FP32, INT8, INT32, UINT32, DType
from step.language.graph import Graph
from step.language.stream import Stream
from step.language.tokens import from_nested
from step.language.types import ElementType, Selector, Tile, Tuple
from step_check.samples.values import random_value

Choice = TypeVar("Choice")
FLOATS = (BF16, FP32)
DTYPES = (*FLOATS, INT8, INT32, UINT32, BOOL)
EXTENTS = (5, 3, 3, 2, 2)
"""The longest outermost dimension, by rank."""


class Draft:
    """Adds to ``graph``; ``number(least, most)`` makes all choices. ``inputs`` are what sources play, and tensors."""

    def __init__(self, graph: Graph, number: Callable[[int, int], int]) -> None:
        self.graph, self.number = graph, number
        self.inputs: dict[str, Any] = {}
        self._nested: dict[tuple[str, int], Nested] = {}
        self._names = 0

    def flag(self) -> bool:
        return bool(self.number(0, 1))

    def one_of(self, *choices: Choice) -> Choice:
        return choices[self.number(0, len(choices) - 1)]

    def name(self, stem: str) -> str:
        self._names += 1
        return f"{stem}{self._names}"

    # -- elements -----------------------------------------------------------------------------------------------

    def tile(self, dtypes: Sequence[DType] = DTYPES, *, most: int = 4) -> Tile:
        return Tile(self.one_of(*dtypes), self.number(1, most), self.number(1, most))

    def element(self) -> ElementType:
        """Of any type."""
        kind = self.number(0, 9)
        if kind == 9:
            return Selector(self.number(1, 5))
        return Tuple((self.tile(most=2), self.one_of(self.tile(most=3), Selector(2)))) if kind == 8 else self.tile()

    def value(self, element: ElementType) -> Any:
        return random_value(Random(self.number(0, 1 << 16)), element)

    # -- streams ------------------------------------------------------------------------------------------------

    def stream(self, element: ElementType | None = None, *, least: int = 0, most: int = 4) -> Stream:
        """A source of a rank from ``least`` to ``most``: static, regular and ragged dimensions, empties included."""
        rank = self.number(least, most)
        dims: list[Dim | int] = []
        extents: list[int | None] = []
        for position in range(rank + 1):
            kind, extent = self.one_of("static", "regular", "ragged"), self.number(0, EXTENTS[rank])
            if kind == "ragged" and position:
                dims.append(self.graph.symbol(self.name("R"), ragged=True))
                extents.append(None)
            else:
                dims.append(extent if kind == "static" else self.graph.symbol(self.name("N")))
                extents.append(extent)
        wanted = element or self.element()
        return self.play(wanted, self._fill(wanted, extents), dims)

    def _fill(self, element: ElementType, extents: Sequence[int | None]) -> Nested:
        extent, *inner = extents
        count = self.number(0, EXTENTS[len(inner)]) if extent is None else extent
        return [self._fill(element, inner) if inner else self.value(element) for _ in range(count)]

    def play(self, element: ElementType, nested: Nested, dims: Sequence[Dim | int]) -> Stream:
        """A source of ``nested``."""
        name = self.name("x")
        stream = self.graph.source(name, element, dims)
        self.inputs[name] = from_nested(nested, len(dims) - 1)
        self._nested[stream.key] = nested
        return stream

    def nested(self, stream: Stream) -> Nested:
        """What a source plays."""
        return self._nested[stream.key]

    def twin(self, stream: Stream, element: ElementType, outer: int | None = None) -> Stream:
        """A source of ``element`` in the shape of another one, or in that of its ``outer`` dimensions."""
        levels = len(stream.shape) if outer is None else outer
        nested = inside(levels, lambda _: self.value(element), self.nested(stream))
        return self.play(element, nested, stream.shape[:levels])

    def sink(self, *streams: Stream) -> None:
        """Outputs."""
        for each in streams:
            each.sink(self.name("y"))
