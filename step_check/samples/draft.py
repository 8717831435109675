"""A program that grows, and what its streams carry."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from step.errors import TypeMismatch
from step.language.dims import Dim
from step.language.dtypes import FLOATS
from step.language.faults import rows_of
from step.language.function import NUMBER, AccumFunction, FlatMapFunction, Function, MapFunction, Sample
from step.language.graph import Graph, Tensor
from step.language.stream import Stream
from step.language.tokens import Token, from_nested
from step.language.types import ElementType, Selector, Tile, is_dynamic
from step_check.samples.known import functions
from step_check.samples.nested import Nested, entries, inside
from step_check.samples.values import alike, random_element, random_nested, random_tile, random_value, size

LARGEST = 60
"""Tokens of a stream that operators still multiply."""

HIGHEST_RANK = 6

TRIES = 3
"""Samples of a function that may not fit."""

ROOM = 512
"""Slots of a channel that is never full."""


@dataclass(frozen=True, eq=False)
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
    def is_tile(self) -> bool:
        """Whether there are tiles of static size."""
        return isinstance(self.element, Tile) and self.element.is_static

    @property
    def is_dynamic(self) -> bool:
        """Whether there are tiles with a dynamic number of rows, maybe in tuples."""
        return is_dynamic(self.element)

    @property
    def is_float(self) -> bool:
        """Whether there are tiles of numbers with a fraction that arithmetic takes."""
        return isinstance(self.element, Tile) and self.element.dtype in FLOATS


def same_rows(one: Piece, other: Piece) -> bool:
    """Whether the tiles of two pieces of the same shape have as many rows as each other, where these are dynamic."""
    if not (one.is_dynamic and other.is_dynamic):
        return True
    pairs = zip(*(entries(each.rank + 1, each.nested) for each in (one, other)), strict=True)
    return all(rows_of(tile) == rows_of(beside) for tile, beside in pairs)


def _result(function: MapFunction | FlatMapFunction, *elements: ElementType) -> ElementType:
    return function.result_type(*elements)


class Draft(abc.ABC):
    """A program that grows step by step, all its choices by ``random``.

    ``roomy`` gives every channel space for all that ever comes, so that the program can not deadlock. ``inputs`` are
    the data of a run, ``most_rows`` the most that a tile of dynamic rows has in it (0: there is no such tile).
    """

    largest_tile = 16
    """Scalars of a tile that a function may make."""

    widest = 600
    """Bits of a tuple."""

    def __init__(self, random: Random, graph: Graph, *, roomy: bool = False) -> None:
        self.random, self.graph, self.roomy = random, graph, roomy
        self.most_rows = 0
        self.inputs: dict[str, Any] = {}
        self.pool: list[Piece] = []
        self.read_keys: set[tuple[str, int]] = set()
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
        return self.random.random() < probability

    def tile(self) -> Tile:
        """The type of values of one's own."""
        return random_tile(self.random)

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

    def partner(self, piece: Piece, element: ElementType | None = None) -> Piece:
        """A stream of the shape of ``piece``, and of ``element`` if there is one: from the pool, or a source."""
        found = [
            each
            for each in self.pool
            if each.stream.shape == piece.stream.shape
            and element in (None, each.element)
            and not each.timed
            and alike(each.nested, piece.nested, piece.rank + 1)
            and same_rows(each, piece)
        ]
        if found and not piece.timed and self.chance(0.5):
            return self.random.choice(found)
        if element in (None, piece.element) and (piece.timed or self.chance(0.3)):
            return piece
        assert not piece.timed
        wanted = element or self.tile()
        return self.twin(piece, wanted, lambda random: random_value(random, wanted))

    def twin(self, piece: Piece, element: ElementType, value: Callable[[Random], Any], stem: str = "twin") -> Piece:
        """A source of the shape of ``piece``, of ``element``, all of whose values are made by ``value``."""
        assert not piece.timed
        nested = inside(piece.rank + 1, lambda _: value(self.random), piece.nested)
        return self.play(stem, element, nested, piece.stream.shape)

    def numbers(self, piece: Piece, numbers: Iterable[int], stem: str) -> Piece:
        """A source of the shape of ``piece`` that plays ``numbers``."""
        left = iter(numbers)
        return self.twin(piece, NUMBER, lambda _: np.array([[next(left)]], np.uint32), stem)

    # -- functions ----------------------------------------------------------------------------------------------

    def functions(self, kind: type[Any]) -> list[type[Function]]:
        """Those of ``kind`` that may be used."""
        return functions(kind)

    def applied(
        self, piece: Piece, kind: type[Any], result: Callable[..., ElementType] = _result
    ) -> tuple[Any, list[Stream]] | None:
        """A function of ``kind`` and its operands: ``piece`` if it takes that, and others in its shape.

        ``result(function, *elements)`` is its type, and raises `TypeMismatch` where they do not fit.
        None: no function fits; tiles with a dynamic number of rows have steps of their own.
        """
        if piece.is_dynamic:
            return None
        classes = self.functions(kind)
        self.random.shuffle(classes)
        for each in [each for each in classes for _ in range(TRIES)]:
            try:
                sample = each.sample(self.random, piece.element, reduce=kind is AccumFunction)
                if sample is None or not self._fits(sample, piece, result(sample.function, *sample.elements)):
                    continue
            except TypeMismatch:
                continue
            own, streams = self._own(sample, piece), list[Stream]()
            for port, element in enumerate(sample.elements):
                if port == own:
                    operand = piece
                elif port in sample.values:
                    operand = self.twin(piece, element, sample.values[port], "number")
                else:
                    operand = self.partner(piece, element)
                streams.append(self.read(operand))
            return sample.function, streams
        return None

    def _own(self, sample: Sample, piece: Piece) -> int | None:
        """The operand that is ``piece`` itself."""
        ports = [
            port for port, each in enumerate(sample.elements) if each == piece.element and port not in sample.values
        ]
        return ports[0] if ports else None

    def _fits(self, sample: Sample, piece: Piece, result: ElementType) -> bool:
        """Whether operands can be had, and the result is not too large."""
        if piece.timed and (sample.values or any(each != piece.element for each in sample.elements)):
            return False
        tiles = [each for each in (result, *sample.elements) if isinstance(each, Tile)]
        return all(each.is_static and 0 < int(each.elements) <= self.largest_tile for each in tiles)

    # -- inputs -------------------------------------------------------------------------------------------------

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
        self.inputs[name] = self.tensors[tensor.name] = content
        return tensor

    def tensor_of(self, tile: Tile, tiles: int) -> Tensor:
        """A tensor of ``tiles`` tiles, or a few more."""
        down, (rows, cols) = self.random.randint(1, 3), tile.shape
        across = -(-tiles // down)
        return self.tensor([*[1] * self.random.randint(0, 1), down * rows, across * cols], tile)
