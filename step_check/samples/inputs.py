"""Sources and tensors of a program that grows."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

import numpy as np

from step.language.dims import Dim
from step.language.draft import Nested, Piece
from step.language.graph import Graph, Tensor
from step.language.stream import Stream
from step.language.tokens import Token, from_nested
from step.language.types import ElementType, Selector, Tile
from step_check.samples.values import random_element, random_nested, random_tile, random_value


class DraftInputs(abc.ABC):
    """Inputs of a program in ``graph``, all choices by ``random``.

    ``inputs`` are the data of a run; ``most_rows`` the most that a tile of dynamic rows has in it (0: there is none).
    """

    def __init__(self, random: Random, graph: Graph) -> None:
        self.random, self.graph = random, graph
        self.most_rows = 0
        self.inputs: dict[str, Any] = {}
        self.pool: list[Piece] = []
        self.regular: list[tuple[Dim, int]] = []
        self.played: dict[str, list[Token]] = {}
        self.tensors: dict[str, np.ndarray] = {}
        self._counter = 0

    @abc.abstractmethod
    def keep(self, *streams: Stream, timed: bool = False) -> list[Piece]:
        """Find what is new in the graph, and put ``streams`` into the pool."""

    def name(self, stem: str) -> str:
        """A new name."""
        self._counter += 1
        return f"{stem}{self._counter}"

    def chance(self, probability: float) -> bool:
        """True as often as ``probability`` says."""
        return self.random.random() < probability

    def tile(self) -> Tile:
        """Any type of tile."""
        return random_tile(self.random)

    def value(self, element: ElementType) -> Any:
        """Any value of ``element``."""
        return random_value(self.random, element)

    def nested(self, extents: Sequence[int | None], element: ElementType) -> Nested:
        """Nested lists of any values of ``element``."""
        return random_nested(self.random, extents, element)

    def play(self, stem: str, element: ElementType, nested: Nested, dims: Iterable[Dim | int]) -> Piece:
        """A source of ``nested``; it is not in the pool."""
        name, dims = self.name(stem), list(dims)
        stream = self.graph.source(name, element, dims)
        self.inputs[name] = self.played[stream.producer] = from_nested(nested, len(dims) - 1)
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
        return self.play("x", element, self.nested(extents, element), dims)

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
        """A source of selectors."""
        return self.play("which", Selector(targets), nested, dims)

    def tensor(self, dims: Sequence[int], tile: Tile) -> Tensor:
        """A tensor of the scalars of ``tile``."""
        name = self.name("t")
        tensor = self.graph.tensor(name, dims, tile.dtype)
        content = self.value(Tile(tile.dtype, 1, int(np.prod(dims)))).reshape(dims)
        self.inputs[name] = self.tensors[tensor.name] = content
        return tensor

    def tensor_of(self, tile: Tile, tiles: int) -> Tensor:
        """A tensor of ``tiles`` tiles, or a few more."""
        down, (rows, cols) = self.random.randint(1, 3), tile.shape
        across = -(-tiles // down)
        return self.tensor([*[1] * self.random.randint(0, 1), down * rows, across * cols], tile)
