"""A program that grows, and what its streams carry."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random
from typing import Any, Literal

import numpy as np

from step.errors import SimulationError, TypeMismatch
from step.language.draft import HIGHEST_RANK, Nested, Piece, inside
from step.language.function import NUMBER, AccumFunction, FlatMapFunction, Function, MapFunction, Sample
from step.language.graph import Graph
from step.language.stream import Stream
from step.language.tokens import from_nested, to_nested
from step.language.types import ElementType, Selector, Tile
from step.programs.data.inputs import BoundInputs
from step.running.interpreter import Interpretation, interpret
from step_check.samples.contents import Contents
from step_check.samples.inputs import DraftInputs
from step_check.samples.known import functions
from step_check.samples.values import alike, grouped, random_value, size

LARGEST = 60
"""Tokens of a stream that operators still multiply."""

TRIES = 3
"""Samples of a function that may not fit."""

ROOM = 512
"""Slots of a channel that is never full."""


def _result(function: MapFunction | FlatMapFunction, *elements: ElementType) -> ElementType:
    return function.result_type(*elements)


class GrowingDraft(DraftInputs):
    """A `step.language.draft.Draft` in ``graph``, which may have other programs already; what grows runs at once.

    ``roomy`` gives every channel space for all that ever comes, so that the program can not deadlock.
    """

    largest_tile = 16
    """Scalars of a tile that a function may make."""

    widest = 600

    def __init__(self, random: Random, graph: Graph, *, roomy: bool = False) -> None:
        super().__init__(random, graph)
        self.roomy = roomy
        self.read_keys: set[tuple[str, int]] = set()
        self.contents = Contents(self.played, self.tensors)
        self._others = frozenset(graph.nodes)
        self._grown = set(graph.nodes)

    def keep(self, *streams: Stream, timed: bool = False) -> list[Piece]:
        """Run what is new in the graph, and put ``streams`` into the pool."""
        for name, node in self.graph.nodes.items():
            if name not in self._grown:
                self.contents.add(self.graph, node)
                self._grown.add(name)
        pieces = [Piece(each, to_nested(self.contents.streams[str(each)], each.rank), timed) for each in streams]
        self.pool += pieces
        return pieces

    def go_round(self) -> None:
        """Learn from a run what comes on the feedback edges, and in which order; the checks find out if it is right.

        Nothing comes where the run fails, which they find out too.
        """
        nodes = {name: each for name, each in self.graph.nodes.items() if name not in self._others}
        own = replace(self.graph, nodes=nodes)
        try:
            found = interpret(own, BoundInputs(self.tensors, self.played), record=True)
        except SimulationError:
            found = Interpretation({}, {}, {str(each): from_nested([], each.rank) for each in own.streams()})
        for edge in self.graph.feedbacks.values():
            origin = self.graph.resolve(edge.stream)
            if origin.producer in nodes:
                self.contents.streams[edge.name] = found.streams[str(origin)]
        new = set(found.arrivals) - self._grown
        self.contents.orders = {**self.contents.orders, **{name: found.arrivals[name] for name in new}}

    # -- pieces -------------------------------------------------------------------------------------------------

    def pick(self, fits: Callable[[Piece], bool] = lambda _: True, *, factor: int = 1) -> Piece | None:
        """A piece that ``fits``, and stays small when it gets ``factor`` times as large; late ones more often."""
        found = [each for each in self.pool if size(each.nested, each.rank + 1) * factor <= LARGEST and fits(each)]
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
        found = self.beside(piece, element)
        if found and not piece.timed and self.chance(0.5):
            return self.random.choice(found)
        if element in (None, piece.element) and (piece.timed or self.chance(0.3)):
            return piece
        assert not piece.timed
        wanted = element or self.tile()
        return self.twin(piece, wanted, lambda random: random_value(random, wanted))

    def beside(self, piece: Piece, element: ElementType | None) -> list[Piece]:
        """Pieces of the pool in the shape of ``piece``, and of ``element`` if there is one."""
        found = (each for each in self._along(piece) if each.rank == piece.rank)
        return [each for each in found if element in (None, each.element) and each.has_rows_of(piece)]

    def _along(self, piece: Piece) -> list[Piece]:
        """Pieces of the pool in the shape of ``piece``, or of its outer dimensions."""
        return [
            each
            for each in self.pool
            if not each.timed
            and each.stream.shape == piece.stream.shape[: each.rank + 1]
            and alike(each.nested, piece.nested, each.rank + 1)
        ]

    def twin(self, piece: Piece, element: ElementType, value: Callable[[Random], Any], stem: str = "twin") -> Piece:
        """A source of the shape of ``piece``, of ``element``, all of whose values are made by ``value``."""
        assert not piece.timed
        nested = inside(piece.rank + 1, lambda _: value(self.random), piece.nested)
        return self.play(stem, element, nested, piece.stream.shape)

    def numbers(self, piece: Piece, numbers: Iterable[int], stem: str) -> Piece:
        """A source of the shape of ``piece`` that plays ``numbers``."""
        left = iter(numbers)
        return self.twin(piece, NUMBER, lambda _: np.array([[next(left)]], np.uint32), stem)

    def grouped(self, entries: Nested, rank: int) -> Nested:
        """``entries`` in order, as nested lists of ``rank`` + 1 levels with empties between them."""
        return grouped(self.random, entries, rank)

    # -- functions ----------------------------------------------------------------------------------------------

    def functions(self, kind: type[Any]) -> list[type[Function]]:
        """Functions of ``kind`` that may be used."""
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
            fitting = (at for at, one in enumerate(sample.elements) if one == piece.element and at not in sample.values)
            own, streams = next(fitting, None), list[Stream]()
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

    def _fits(self, sample: Sample, piece: Piece, result: ElementType) -> bool:
        """Whether operands can be had, and the result is not too large."""
        if piece.timed and (sample.values or any(each != piece.element for each in sample.elements)):
            return False
        tiles = [each for each in (result, *sample.elements) if isinstance(each, Tile)]
        return all(each.is_static and 0 < int(each.elements) <= self.largest_tile for each in tiles)

    # -- buffers and chunks -------------------------------------------------------------------------------------

    def stored(self) -> Piece | None:
        """Tiles that can go into buffers."""
        return self.pick(lambda each: isinstance(each.element, Tile) and 0 < each.rank < HIGHEST_RANK - 1, factor=4)

    def fill(self, piece: Piece) -> tuple[Stream, int]:
        """Buffers of ``piece``, and of which rank they are."""
        rank = self.random.randint(1, piece.rank)
        if any(each.is_ragged for each in piece.stream.shape[-rank:][1:]):
            rank = 1
        return self.read(piece).bufferize(rank=rank), rank

    def route(self, piece: Piece) -> tuple[list[Piece], Piece, int]:
        """The parts of ``piece``, the selectors, and the rank of the chunks."""
        which = self._selecting(piece)
        assert isinstance(which.element, Selector)
        rank = piece.rank - which.rank
        parts = self.read(piece).partition(self.read(which), targets=which.element.targets, rank=rank)
        return self.keep(*parts, timed=piece.timed), which, rank

    def _selecting(self, piece: Piece) -> Piece:
        """Selectors for the chunks of ``piece``, from the pool, or a source; by turns where it is timed."""
        if piece.timed:
            targets = self.random.randint(1, 3)
            all_of_them = self.graph.turns(targets, [range(targets)], reference=self.read(piece))
            return self.keep(all_of_them, timed=True)[0]
        found = [each for each in self._along(piece) if isinstance(each.element, Selector)]
        if found and self.chance(0.4):
            return self.random.choice(found)
        targets, outer = self.random.choice([2, 2, 1, 3, 3, 5]), self.random.randint(1, piece.rank + 1)
        masks = inside(outer, lambda _: self.random.randrange(1 << targets), piece.nested)
        return self.selectors(targets, masks, piece.stream.shape[:outer])

    def gather(self, streams: list[Stream], which: Piece, rank: int, *, timed: bool) -> None:
        """Chunks of ``streams`` together again, in the order of the ports or of arrival."""
        order: Literal["index", "arrival"] = self.random.choice(["index", "arrival"])
        again = self.graph.reassemble(streams, self.read(which), rank=rank, order=order)
        self.keep(again, timed=timed or order == "arrival")
