"""A program placed anew with changes: less of it, or other data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from step.language.dims import Dim, Shape
from step.language.graph import Graph
from step.language.location import UNKNOWN_LOCATION, Location
from step.language.stream import Stream
from step.language.tiling import accessed
from step.language.tokens import Token
from step.language.types import ElementType, Tile, Tuple
from step.programs.program import Program
from step_check.fuzz.program import with_ports

Key = tuple[str, int]


@dataclass(frozen=True)
class Changes:
    """What becomes of a program.

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


class _Rebuilding:
    def __init__(self, program: Program, changes: Changes) -> None:
        self.old, self.changes, self.inputs = program, changes, dict[str, Any]()
        self.graph = Graph(program.graph.name)
        self.streams: dict[Key, Stream] = {}
        self._rows_of: dict[str, Dim] = {}
        self.needed = needed(program.graph, changes)

    def program(self) -> Program:
        old, graph = self.old.graph, self.graph
        for key, tokens in self.changes.played.items():
            if key in self.needed:
                self._play(key, tokens)
        edges = [each for name, each in old.feedbacks.items() if (name, 0) in self.needed]
        for edge in [each for each in edges if (each.name, 0) not in self.streams]:
            self._declare(edge.type.shape, edge.type.element, edge.location)
            feedback = graph.feedback(edge.type.element, edge.type.shape, name=edge.name, location=edge.location)
            self.streams[edge.name, 0] = feedback.stream
        for node in old:
            if (node.name, -1) not in self.needed:
                continue
            access = accessed(node)
            if access is not None and access.tensor is not None and access.tensor not in graph.tensors:
                tensor = old.tensors[access.tensor]
                graph.tensor(tensor.name, tensor.shape, tensor.dtype)
                self.inputs[tensor.name] = self.old.inputs[tensor.name]
            given = node.operator.given()
            if given is not None:
                shape = self.changes.shapes.get(node.name, given.shape)
                self._declare(shape, given.element, node.location)
                self.inputs[node.name] = self.changes.data.get(node.name, self.old.inputs[node.name])
                made = [graph.source(node.name, given.element, shape)]
            else:
                read = [self._read(each) for each in node.inputs]
                made = [*graph.add(node.operator, read, name=node.name, location=node.location)]
            for port, stream in enumerate(made):
                dims = old.refinements.get(old.stream_name(node.name, port))
                if dims is not None:
                    self._declare(dims, stream.element, node.location)
                    stream = graph.refine(stream, dims)
                self.streams.setdefault((node.name, port), stream)
        for edge in edges:
            if edge.name in graph.feedbacks:
                assert edge.source is not None
                graph.feedbacks[edge.name].close(self._read(edge.source))
        for key in self.changes.sinks:
            name = f"{old.stream_name(*key)}_end".replace(".", "_")
            if name not in graph.nodes:
                self.streams[key].sink(name)
        fabric = self.old.fabric
        lanes, links = (
            {name: own for name, own in each.items() if name in graph.nodes} for each in (fabric.lanes, fabric.links)
        )
        return Program(graph, self.inputs, with_ports(replace(fabric, lanes=lanes, links=links), graph))

    def _read(self, stream: Stream) -> Stream:
        found = self.streams[self.changes.instead.get(stream.key, stream.key)]
        return found if stream.depth is None else found.buffered(stream.depth)

    def _play(self, key: Key, tokens: list[Token]) -> None:
        producer, port = key
        old = self.old.graph
        kind = old.feedbacks[producer].type if producer in old.feedbacks else old.nodes[producer].output_types[port]
        name = old.stream_name(producer, port).replace(".", "_")
        element = self._element(kind.element, name)
        self._declare(kind.shape, element, UNKNOWN_LOCATION)
        self.streams[key] = self.graph.source(name, element, kind.shape)
        self.inputs[name] = tokens

    def _element(self, element: ElementType, name: str) -> ElementType:
        """``element`` as a source may have it."""
        if isinstance(element, Tuple):
            return Tuple(tuple(self._element(item, name) for item in element.items))
        if isinstance(element, Tile) and element.rows.is_ragged and not element.rows.extent.is_Symbol:
            return replace(element, rows=self._rows(element.rows, name))
        return element

    def _rows(self, rows: Dim, name: str) -> Dim:
        """A symbol in the place of ragged ``rows``, as sources have no others."""
        made = self._rows_of.get(str(rows))
        if made is None:
            made = self._rows_of[str(rows)] = self.graph.symbol(f"{name}_rows", ragged=True, location=UNKNOWN_LOCATION)
        return made

    def _declare(self, shape: Sequence[Dim], element: ElementType, location: Location) -> None:
        """Declare the symbols of ``shape`` and of tiles in ``element``: nobody else may make them then."""
        for each in (*shape, *(extent for tile in element.tiles for extent in (tile.rows, tile.cols))):
            for symbol in sorted(each.extent.free_symbols, key=str):
                if str(symbol) not in self.graph.symbols:
                    self.graph.symbol(str(symbol), ragged=each.is_ragged, location=location)


def needed(graph: Graph, changes: Changes) -> set[Key]:
    """The streams that are read, and, with port -1, the nodes that are left when only what outputs need is kept."""
    found: set[Key] = set()
    left = [(node.name, -1) for node in graph if node.operator.ends_run and node.name not in changes.without]
    left += changes.sinks
    while left:
        key = left.pop()
        if key in found:
            continue
        found.add(key)
        if key in changes.played:
            continue
        producer, port = key
        read: list[Stream] = []
        if producer in graph.feedbacks:
            edge = graph.feedbacks[producer].source
            read = [] if edge is None else [edge]
        elif port < 0:
            read = list(graph.nodes[producer].inputs)
        else:
            left.append((producer, -1))
        left += [changes.instead.get(each.key, each.key) for each in read]
    return found
