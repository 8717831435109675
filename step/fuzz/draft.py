"""A program that grows, and what its streams carry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np

from step.errors import SimulationError
from step.fuzz.growth import Growth
from step.fuzz.nested import Nested
from step.fuzz.values import random_element, random_nested, random_value, size
from step.language.dims import Dim
from step.language.graph import Graph, Tensor
from step.language.stream import Stream
from step.language.tokens import from_nested, to_nested
from step.language.types import ElementType, Selector, Tile
from step.programs.inputs import BoundInputs
from step.running.interpreter import Interpretation, interpret

LARGEST = 60
"""Tokens of a stream that operators still multiply."""

HIGHEST_RANK = 6

ROOM = 512
"""Slots of a channel that is never full."""


@dataclass(frozen=True)
class Piece:
    """A stream, and the nested lists that it carries.

    ``timed``: the order of arrival may show in them, so that nothing else may rely on them.
    """

    stream: Stream
    nested: Nested
    timed: bool

    @property
    def element(self) -> ElementType:
        return self.stream.element

    @property
    def rank(self) -> int:
        return self.stream.rank

    @property
    def size(self) -> int:
        return sum(size(each, self.rank) for each in self.nested)

    @property
    def is_float(self) -> bool:
        return isinstance(self.element, Tile) and self.element.dtype.is_float


class Draft:
    """A program that grows step by step, all its choices by ``random``.

    ``roomy`` gives every channel space for all that ever comes, so that the program can not deadlock. ``dynamic`` lets
    tiles have dynamic sizes, for which there is no hardware.
    """

    def __init__(self, random: Random, graph: Graph, *, roomy: bool, dynamic: bool) -> None:
        self.random, self.graph, self.roomy, self.dynamic = random, graph, roomy, dynamic
        self.inputs: dict[str, Any] = {}
        self.pool: list[Piece] = []
        self.read_keys: set[tuple[str, int]] = set()
        self.regular: list[tuple[Dim, int]] = []
        self.growth = Growth()
        self._others = frozenset(graph.nodes)
        self._grown = set(graph.nodes)
        self._counter = 0

    def name(self, stem: str) -> str:
        """A new name."""
        self._counter += 1
        return f"{stem}{self._counter}"

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    # -- pieces -------------------------------------------------------------------------------------------------

    def pick(self, fits: Callable[[Piece], bool] = lambda _: True, *, factor: int = 1) -> Piece | None:
        """A piece that ``fits``, and stays small when it gets ``factor`` times as large; late ones more often."""
        found = [each for each in self.pool if each.size * factor <= LARGEST and fits(each)]
        if not found:
            return None
        return self.random.choice(found[-3:] if self.chance(0.5) else found)

    def read(self, piece: Piece) -> Stream:
        """The stream of ``piece`` for one more reader, with a channel of some depth."""
        self.read_keys.add(piece.stream.key)
        depth = self.random.choice([None, None, None, 2, 3, 4, 6])
        if self.roomy:
            depth = ROOM
        return piece.stream if depth is None else piece.stream.buffered(depth)

    def keep(self, *streams: Stream, timed: bool = False) -> list[Piece]:
        """Run what is new in the graph, and put ``streams`` into the pool."""
        for name, node in self.graph.nodes.items():
            if name not in self._grown:
                self.growth.add(self.graph, node)
                self._grown.add(name)
        pieces = [Piece(each, to_nested(self.growth.streams[str(each)], each.rank), timed) for each in streams]
        self.pool += pieces
        return pieces

    def go_round(self) -> None:
        """Learn from a run what comes on the feedback edges, and in which order; the checks find out if it is right.

        Nothing comes where the run fails, which they find out too.
        """
        nodes = {name: each for name, each in self.graph.nodes.items() if name not in self._others}
        own = replace(self.graph, nodes=nodes)
        try:
            found = interpret(own, BoundInputs(self.growth.tensors, self.growth.played), record=True)
        except SimulationError:
            found = Interpretation({}, {}, {str(each): from_nested([], each.rank) for each in own.streams()})
        for edge in self.graph.feedbacks.values():
            origin = self.graph.resolve(edge.stream)
            if origin.producer in nodes:
                self.growth.streams[edge.name] = found.streams[str(origin)]
        new = set(found.arrivals) - self._grown
        self.growth.orders = {**self.growth.orders, **{name: found.arrivals[name] for name in new}}

    # -- inputs -------------------------------------------------------------------------------------------------

    def play(self, stem: str, element: ElementType, nested: Nested, dims: Iterable[Dim | int]) -> Piece:
        """A source of ``nested``; it is not in the pool."""
        name, dims = self.name(stem), list(dims)
        stream = self.graph.source(name, element, dims)
        self.inputs[name] = self.growth.played[stream.producer] = from_nested(nested, len(dims) - 1)
        (piece,) = self.keep(stream)
        self.pool.pop()
        return piece

    def source(self) -> Piece:
        """A source of any type, its dimensions declared as they are."""
        rank = self.random.choice([0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4])
        dims: list[Dim | int] = []
        extents: list[int | None] = []
        for position in range(rank + 1):
            most = 2 if rank > 2 else 5 if rank == 0 else 3
            dim, extent = self._dimension(most, outermost=position == 0)
            dims.append(dim)
            extents.append(extent)
        if self.chance(0.1):
            dims[-1], extents[-1] = 1, 1
        element = random_element(self.random)
        return self.play("x", element, random_nested(self.random, extents, element), dims)

    def _dimension(self, most: int, *, outermost: bool) -> tuple[Dim | int, int | None]:
        """A dimension, and its extent where that is always the same."""
        kind = self.random.choice(["static", "static", "regular", "regular", "ragged", "ragged", "ragged"])
        if kind == "static":
            extent = 0 if self.chance(0.05) else self.random.randint(1, most)
            return extent, extent
        if kind == "ragged" and (not outermost or self.chance(0.1)):
            return self.graph.symbol(self.name("R"), ragged=True), None
        if self.regular and self.chance(0.2):
            return self.random.choice(self.regular)
        least = 0 if self.chance(0.1 if outermost else 0.25) else 1
        self.regular.append((self.graph.symbol(self.name("N")), self.random.randint(least, most)))
        return self.regular[-1]

    def selectors(self, targets: int, nested: Nested, dims: Iterable[Dim | int]) -> Piece:
        return self.play("which", Selector(targets), nested, dims)

    def tensor(self, dims: Sequence[int], tile: Tile) -> Tensor:
        """A tensor of the scalars of ``tile``."""
        name = self.name("t")
        tensor = self.graph.tensor(name, dims, tile.dtype)
        content = random_value(self.random, Tile(tile.dtype, 1, int(np.prod(dims)))).reshape(dims)
        self.inputs[name] = self.growth.tensors[tensor.name] = content
        return tensor
