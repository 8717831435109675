"""Programs around any operator that there is: its own sample, on streams that suit it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

from scenarios import FABRIC, Inputs, Scenario

from step import Program, Simulator
from step.language.dims import Dim
from step.language.draft import Piece
from step.language.function import NUMBER
from step.language.graph import Graph
from step.language.types import ElementType, Tuple
from step.lowering.netlist import insert_broadcasts
from step.running.result import Status
from step_check.samples.draft import GrowingDraft
from step_check.samples.known import operators
from step_check.samples.values import random_element, random_nested, random_tile

OPERATORS = {each.name: each for each in operators()}

SIZES = (5, 3, 2, 2)
"""The most entries of a dimension, by rank."""


Extent = tuple[str | None, int | None]
"""The name of a dimension, None for one that is declared as it is, and its extent, None for any."""


class Around(GrowingDraft):
    """A draft of one operator: what its sample picks are new sources of any rank, some ragged, some empty."""

    widest = 1 << 20

    def pick(self, fits: Callable[[Piece], bool] = lambda _: True, *, factor: int = 1) -> Piece | None:
        for rank in self.random.sample(range(4), 4):
            extents = [self._extent(SIZES[rank], outermost=place == 0) for place in range(rank + 1)]
            for element in self._elements():
                trial = Graph("trial")
                if fits(Piece(trial.source("x", element, declared(trial, extents)), [], False)):
                    dims, siblings = declared(self.graph, extents), self.random.choice([0, 0, 1, 2])
                    pieces = [self._play(element, extents, dims) for _ in range(1 + siblings)]
                    self.pool += pieces
                    return pieces[0]
        return None

    def _play(self, element: ElementType, extents: list[Extent], dims: list[Dim | int]) -> Piece:
        """A source of any values; ragged dimensions are its own."""
        known = [extent for _, extent in extents]
        own = [self._ragged() if extent is None else each for extent, each in zip(known, dims, strict=True)]
        return self.play("x", element, random_nested(self.random, known, element), own)

    def _ragged(self) -> Dim:
        return self.graph.symbol(self.name("R"), ragged=True)

    def _extent(self, most: int, *, outermost: bool) -> Extent:
        kind = self.random.choice(["static", "regular"] if outermost else ["static", "regular", "ragged"])
        name = None if kind == "static" else self.name("N")
        return name, None if kind == "ragged" else self.random.randint(0, most)

    def _elements(self) -> list[ElementType]:
        tile = random_tile(self.random)
        found = [random_element(self.random), tile, Tuple((tile, random_tile(self.random))), NUMBER]
        self.random.shuffle(found)
        return found


def declared(graph: Graph, extents: list[Extent]) -> list[Dim | int]:
    """The dimensions of ``extents`` in ``graph``."""
    return [extent if name is None else graph.symbol(name, ragged=extent is None) for name, extent in extents]


def build(operator: str, random: Random, graph: Graph, *, roomy: bool = False) -> Inputs:
    """Put a program around ``operator`` into ``graph``, by choices of ``random``; ``roomy``: with deep channels."""
    draft = Around(random, graph, roomy=roomy)
    OPERATORS[operator].sample(draft)
    for piece in draft.pool:
        if piece.stream.key not in draft.read_keys:
            draft.read(piece).sink(draft.name("y"))
    assert operator in {node.operator.name for node in insert_broadcasts(graph)}, f"{operator} is not there"
    return draft.inputs


def drawn(operator: str, seed: int) -> Scenario:
    """A program with random choices; one that deadlocks for want of space in its channels has space for everything."""

    def builder(graph: Graph, roomy: bool = False) -> Inputs:
        return build(operator, Random(f"{operator} {seed}"), graph, roomy=roomy)

    graph = Graph("drawn")
    made = Program(graph, builder(graph), FABRIC)
    crowded = Simulator(made).attempt().result.status == Status.DEADLOCK
    by_arrival = any(node.operator.arrival_ports(len(node.inputs)) for node in graph)
    return Scenario(f"{operator}-{seed}", operator, partial(builder, roomy=crowded), ordered=not by_arrival)
