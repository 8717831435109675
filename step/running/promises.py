"""What shapes promise and data may break: the same streams are checked in every back end, with the same texts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy

from step.errors import StreamFault
from step.language.checker import StreamChecker
from step.language.dims import Dim, DimKind
from step.language.graph import Graph
from step.language.loops import RegularStream
from step.language.stream import Stream
from step.language.symbols import measure
from step.language.tokens import Token
from step.programs.inputs import BoundInputs


class Promises:
    """Checks some ``streams`` of a run of ``graph``.

    ``broken`` has, by stream, the error for the first token that broke its shape; what follows there is not looked at.
    """

    def __init__(self, graph: Graph, streams: Collection[Stream]) -> None:
        self._graph = graph
        self.checkers = {str(stream): StreamChecker(str(stream), stream.type) for stream in streams}
        self._writers = {str(stream): graph.nodes[stream.producer] for stream in streams}
        self.broken: dict[str, StreamFault] = {}

    def copy(self) -> Promises:
        """The same checks, at the same place of the streams."""
        other = copy(self)
        other.checkers = {name: each.copy() for name, each in self.checkers.items()}
        other.broken = dict(self.broken)
        return other

    def see(self, name: str, token: Token) -> None:
        """Take the next token of the stream called ``name``."""
        if name not in self.broken:
            try:
                self.checkers[name].see(token)
            except StreamFault as error:
                self.broken[name] = StreamFault(f"{self._writers[name].describe()}: {error}")

    def see_all(self, name: str, tokens: Sequence[Token]) -> None:
        """Take all of the stream called ``name``."""
        if isinstance(tokens, RegularStream) and self.checkers[name].fits(tokens.extents):
            self.checkers[name].see_regular(tokens.extents)
            return
        for token in tokens:
            self.see(name, token)

    def disagreement(self) -> StreamFault | None:
        """The error where symbols or derived dimensions do not have the one extent that they should have."""
        try:
            measure(self._graph, self.checkers)
        except StreamFault as error:
            return error
        return None


def timed_promises(graph: Graph, inputs: BoundInputs) -> Promises:
    """The checks of a timed run of the lowered ``graph``; those of its sources are done, as their tokens are known."""
    promises = Promises(graph, promising(graph, inputs.streams))
    for name in promises.checkers.keys() & inputs.streams.keys():
        promises.see_all(name, inputs.streams[name])
    return promises


def promising(graph: Graph, sources: Collection[str]) -> list[Stream]:
    """The streams of the lowered ``graph`` that can be the first to break a promise.

    These are the ones whose shape was declared: what ``sources`` play (their static extents were checked before the
    run, so only those with a regular symbol) and what `Graph.refine` was told; and for every symbol that these name a
    stream that shows it. All other shapes follow from their inputs' by the rules of the operators. A stream that nobody
    reads does not exist in a fabric, so it is none of them.
    """
    readers = graph.readers()
    there = [each for each in graph.streams() if each.producer in sources or readers[each.key]]
    declared = [
        each
        for each in there
        if str(each) in graph.refinements or (each.producer in sources and any(map(_is_regular, each.shape)))
    ]
    named = {
        symbol for each in declared for dim in filter(_is_regular, each.shape) for symbol in dim.extent.free_symbols
    }
    showing = {dim.extent: each.key for each in reversed(there) for dim in each.shape if dim.extent.is_Symbol}
    chosen = {each.key for each in declared} | {showing[symbol] for symbol in named if symbol in showing}
    return [each for each in there if each.key in chosen]


def _is_regular(dim: Dim) -> bool:
    return dim.kind is DimKind.DYNAMIC
