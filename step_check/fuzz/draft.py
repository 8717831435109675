"""A draft whose streams are known by running every operator when it is placed."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from step.errors import SimulationError
from step.language.graph import Graph
from step.language.stream import Stream
from step.language.tokens import from_nested, to_nested
from step.programs.data.inputs import BoundInputs
from step.running.interpreter import Interpretation, interpret
from step_check.fuzz.growth import Growth
from step_check.samples.draft import Draft, Piece


class Growing(Draft):
    """A draft in ``graph``, which may have other programs already."""

    def __init__(self, random: Random, graph: Graph, *, roomy: bool = False) -> None:
        super().__init__(random, graph, roomy=roomy)
        self.growth = Growth(self.played, self.tensors)
        self._others = frozenset(graph.nodes)
        self._grown = set(graph.nodes)

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
            found = interpret(own, BoundInputs(self.tensors, self.played), record=True)
        except SimulationError:
            found = Interpretation({}, {}, {str(each): from_nested([], each.rank) for each in own.streams()})
        for edge in self.graph.feedbacks.values():
            origin = self.graph.resolve(edge.stream)
            if origin.producer in nodes:
                self.growth.streams[edge.name] = found.streams[str(origin)]
        new = set(found.arrivals) - self._grown
        self.growth.orders = {**self.growth.orders, **{name: found.arrivals[name] for name in new}}
