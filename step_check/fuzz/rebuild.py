"""A program placed anew with changes: less of it, or other data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from step.language.dims import Dim, Shape
from step.language.graph import Graph, Node
from step.language.location import UNKNOWN_LOCATION, Location
from step.language.operator import StreamType
from step.language.stream import Stream
from step.language.tiling import accessed
from step.language.tokens import Token
from step.language.types import ElementType, Tile, Tuple
from step.programs.program import Program
from step_check.fuzz.program import for_graph

Key = tuple[str, int]


@dataclass(frozen=True)
class Changes:
    """Changes of a program.

    ``without``: nodes that are left out. ``instead``: streams that are read in the place of others. ``played``: streams
    that a source plays now, under their own names where these can be names. ``shapes`` and ``data``: those of sources.
    ``sinks``: streams that leave the program too.
    """

    without: frozenset[str] = frozenset()
    instead: Mapping[Key, Key] = field(default_factory=dict)
    played: Mapping[Key, list[Token]] = field(default_factory=dict)
    shapes: Mapping[str, Shape] = field(default_factory=dict)
    data: Mapping[str, list[Token]] = field(default_factory=dict)
    sinks: tuple[Key, ...] = ()


def rebuilt(program: Program, changes: Changes) -> Program:
    """``program`` with ``changes``, and without what nobody needs then.

    Raises the errors of the language where that is no program.
    """
    return _Rebuilding(program, changes).program()


class Playback:
    """A new graph whose sources play what streams of another one carried; ``inputs`` are their data."""

    def __init__(self, name: str) -> None:
        self.graph, self.inputs = Graph(name), dict[str, Any]()
        self._rows_of: dict[str, Dim] = {}

    def play(self, name: str, kind: StreamType, tokens: list[Token]) -> Stream:
        """A source of ``tokens`` that are of ``kind``."""
        element = self._element(kind.element, name)
        self.declare(kind.shape, element, UNKNOWN_LOCATION)
        self.inputs[name] = tokens
        return self.graph.source(name, element, kind.shape)

    def declare(self, shape: Sequence[Dim], element: ElementType, location: Location) -> None:
        """Declare the symbols of ``shape`` and of tiles in ``element``: nobody else may make them then."""
        for each in (*shape, *(extent for tile in element.tiles for extent in (tile.rows, tile.cols))):
            for symbol in sorted(each.extent.free_symbols, key=str):
                if str(symbol) not in self.graph.symbols:
                    self.graph.symbol(str(symbol), ragged=each.is_ragged, location=location)

    def _element(self, element: ElementType, name: str) -> ElementType:
        """``element`` as a source may have it: with a symbol in the place of ragged rows that are none."""
        if isinstance(element, Tuple):
            return Tuple(tuple(self._element(item, name) for item in element.items))
        if isinstance(element, Tile) and element.rows.is_ragged and not element.rows.extent.is_Symbol:
            rows = str(element.rows)
            if rows not in self._rows_of:
                symbol = self.graph.symbol(f"{name}_rows", ragged=True, location=UNKNOWN_LOCATION)
                self._rows_of[rows] = symbol
            return replace(element, rows=self._rows_of[rows])
        return element


class _Rebuilding(Playback):
    def __init__(self, program: Program, changes: Changes) -> None:
        super().__init__(program.graph.name)
        self.old, self.changes = program, changes
        self.streams: dict[Key, Stream] = {}
        self.needed = needed(program.graph, changes)

    def program(self) -> Program:
        old, graph = self.old.graph, self.graph
        for key, tokens in self.changes.played.items():
            if key in self.needed:
                name, kind = old.stream_name(*key).replace(".", "_"), _type(old, key)
                self.streams[key] = self.play(name, kind, tokens)
        edges = [each for name, each in old.feedbacks.items() if (name, 0) in self.needed]
        for edge in edges:
            if (edge.name, 0) not in self.streams:
                self.declare(edge.type.shape, edge.type.element, edge.location)
                feedback = graph.feedback(edge.type.element, edge.type.shape, name=edge.name, location=edge.location)
                self.streams[edge.name, 0] = feedback.stream
        for node in old:
            if (node.name, -1) in self.needed:
                self._place(node)
        for edge in edges:
            if edge.name in graph.feedbacks:
                assert edge.source is not None
                graph.feedbacks[edge.name].close(self._read(edge.source))
        for key in self.changes.sinks:
            name = f"{old.stream_name(*key)}_end".replace(".", "_")
            if name not in graph.nodes:
                self.streams[key].sink(name)
        return Program(graph, self.inputs, for_graph(self.old.fabric, graph))

    def _place(self, node: Node) -> None:
        """Put ``node`` into the new graph, with the tensor that it accesses, and what is promised of its streams."""
        old, graph, access, given = self.old.graph, self.graph, accessed(node), node.operator.given()
        if access is not None and access.tensor is not None and access.tensor not in graph.tensors:
            tensor = old.tensors[access.tensor]
            graph.tensor(tensor.name, tensor.shape, tensor.dtype)
            self.inputs[tensor.name] = self.old.inputs[tensor.name]
        if given is None:
            read = [self._read(each) for each in node.inputs]
            made = graph.add(node.operator, read, name=node.name, location=node.location)
        else:
            shape = self.changes.shapes.get(node.name, given.shape)
            self.declare(shape, given.element, node.location)
            self.inputs[node.name] = self.changes.data.get(node.name, self.old.inputs[node.name])
            made = (graph.source(node.name, given.element, shape),)
        for port, stream in enumerate(made):
            dims = old.refinements.get(old.stream_name(node.name, port))
            if dims is not None:
                self.declare(dims, stream.element, node.location)
                stream = graph.refine(stream, dims)
            self.streams.setdefault((node.name, port), stream)

    def _read(self, stream: Stream) -> Stream:
        found = self.streams[self.changes.instead.get(stream.key, stream.key)]
        return replace(found, depth=stream.depth, hops=stream.hops)


def _type(graph: Graph, key: Key) -> StreamType:
    producer, port = key
    return graph.feedbacks[producer].type if producer in graph.feedbacks else graph.nodes[producer].output_types[port]


def needed(graph: Graph, changes: Changes) -> set[Key]:
    """The streams that are read, and, with port -1, the nodes that are left when only what outputs need is kept."""

    def behind(key: Key) -> list[Key]:
        producer, port = key
        if key in changes.played:
            return []
        if producer in graph.feedbacks:
            edge = graph.feedbacks[producer].source
            read = [] if edge is None else [edge]
        elif port >= 0:
            return [(producer, -1)]
        else:
            read = list(graph.nodes[producer].inputs)
        return [changes.instead.get(each.key, each.key) for each in read]

    ends = [(node.name, -1) for node in graph if node.operator.ends_run and node.name not in changes.without]
    found, left = set[Key](), [*ends, *changes.sinks]
    while left:
        key = left.pop()
        left += [] if key in found else behind(key)
        found.add(key)
    return found
