"""A program as a graph of operators joined by streams."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from importlib import import_module
from itertools import takewhile
from math import prod
from typing import Any, TypeVar

from step.errors import GraphError, TypeMismatch, expect
from step.host.names import unused
from step.language.arguments import checked, tells_line
from step.language.dims import Dim, DimKind, Shape, format_shape, shape, symbol
from step.language.dtypes import DType, as_dtype
from step.language.fluent import GraphMethods
from step.language.location import Location, caller_location
from step.language.operator import Names, Operator, StreamType
from step.language.stream import Method, Stream
from step.language.types import ElementType
from step.language.well_typed import check_types

Own = TypeVar("Own", bound=Operator)


def graph_method(function: Method) -> Method:
    """Make ``function(graph, ...)`` callable as ``graph.function(...)``."""
    GraphMethods.add_method(function)
    return function


MOST_SCALARS = 1 << 48
"""Of a tensor; what is beyond is a slip of the pen."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Tensor:
    """Tensor in off-chip memory; tiles are cut from its last two dimensions.

    ``name``: name of its data among the inputs.
    ``shape``: extents, two or more integers.
    ``dtype``: its scalar format.

    >>> Graph("weights").tensor("w", (8, 16), "BF16")
    Tensor(name='w', shape=(8, 16), dtype=BF16)
    """

    name: str
    shape: tuple[int, ...]
    dtype: DType

    @tells_line
    def __bool__(self) -> bool:
        raise TypeMismatch(f"tensor {self.name!r} is neither true nor false: its values are read with graph.load(...)")


@dataclass(frozen=True)
class SymbolInfo:
    """A symbol, and where it was born: by the program (``declared``) or by the operator called ``of``."""

    dim: Dim
    born: Location
    of: str
    declared: bool


@dataclass(frozen=True, eq=False)
class Node:
    """An operator placed in a graph."""

    name: str
    operator: Operator
    inputs: tuple[Stream, ...]
    output_types: tuple[StreamType, ...]
    location: Location

    @property
    def input_types(self) -> tuple[StreamType, ...]:
        """Types of the streams that the operator reads."""
        return tuple(stream.type for stream in self.inputs)

    @property
    def input_ports(self) -> tuple[str, ...]:
        """``in0``, ``in1``, ...: what pictures, waves and tables call the inputs."""
        return tuple(f"in{port}" for port in range(len(self.inputs)))

    @property
    def output_ports(self) -> tuple[str, ...]:
        """``out`` for an output without a name of its own, and ``out_padding`` for one that has one."""
        return tuple(f"out_{suffix}" if suffix else "out" for suffix in self.operator.outputs)

    def operator_as(self, kind: type[Own]) -> Own:
        """The operator, which is of this ``kind``."""
        assert isinstance(self.operator, kind)
        return self.operator

    def describe(self) -> str:
        """``partition 'route' (moe.py:12)``."""
        return f"{self.operator.name} {self.name!r} ({self.location})"


@dataclass(eq=False)
class Feedback:
    """A declared feedback edge: a stream that may be read before its writer exists."""

    name: str
    type: StreamType
    location: Location
    stream: Stream
    source: Stream | None = None

    @tells_line
    def __bool__(self) -> bool:
        raise TypeMismatch(f"feedback {self.name!r} is neither true nor false: its values are those of its stream")

    @checked
    def close(self, stream: Stream) -> None:
        """Say which stream feeds the edge; its type must be the declared one."""
        if self.source is not None:
            raise GraphError(f"feedback {self.name!r} ({self.location}) is closed already, by {self.source}")
        if stream.graph is not self.stream.graph:
            other = _beside(stream.graph.name, self.stream.graph.name)
            raise GraphError(f"feedback {self.name!r} ({self.location}) reads {stream} of {other}")
        if stream.type != self.type:
            raise TypeMismatch(
                f"feedback {self.name!r} ({self.location}) was declared as {self.type}, but {stream} is {stream.type}"
            )
        self.source = stream


@dataclass(eq=False, repr=False)
class Graph(GraphMethods):
    """Streaming tensor program under construction, and when it is done.

    Its methods add operators and return their streams (docs/operators.md); only the name is given, the other fields
    fill.

    ``name``: letters, digits and ``_``; what the hardware and all files are called by.

    Raises `GraphError` for another name.

    >>> model = Graph("totals")
    >>> model.source("x", Tile(FP32), [model.symbol("N"), 3]).accum(Add()).sink("y")
    >>> model
    <graph totals: 3 operators>
    >>> [str(stream.type) for stream in model.streams()]
    ['[N, 3] of Tile(FP32, 1, 1)', '[N] of Tile(FP32, 1, 1)']
    """

    name: str = "program"
    _: KW_ONLY
    nodes: dict[str, Node] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    symbols: dict[str, SymbolInfo] = field(default_factory=dict)
    feedbacks: dict[str, Feedback] = field(default_factory=dict)
    refinements: dict[str, Shape] = field(default_factory=dict)
    depths: dict[str, int] = field(default_factory=dict)
    """Of channels of the lowered program, by name, in the place of what streams and fabric say."""
    most_rows: dict[str, int] = field(default_factory=dict)
    """Of the tiles of dynamic size that begin at operators, by name, where that is less than the fabric's."""
    _shared_symbols: dict[tuple[Any, ...], Shape] = field(default_factory=dict, init=False)
    _counters: dict[str, int] = field(default_factory=dict, init=False)
    _locations: list[Location] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self._check_name(self.name)

    @checked
    @contextmanager
    def at(self, location: Location) -> Iterator[None]:
        """Context whose operators are from ``location``, as errors and reports say, not from the line that adds them.

        So what imports models names their lines. Of several ``with``, one inside of another, the inner one counts.

        >>> model = Graph("model")
        >>> with model.at(step.Location("model.py", 12)):
        ...     rows = model.source("rows", Tile(FP32), [3])
        >>> model.nodes["rows"].describe()
        "source 'rows' (model.py:12)"
        """
        self._locations.append(location)
        try:
            yield
        finally:
            self._locations.pop()

    @property
    def here(self) -> Location:
        """Location of what is added now: the line of the caller, unless `at` says another one."""
        return self._locations[-1] if self._locations else caller_location()

    # -- declarations -------------------------------------------------------------------------------------------

    @checked
    def symbol(self, name: str, *, ragged: bool = False, location: Location | None = None) -> Dim:
        """A dimension that is known at run time only."""
        kind = DimKind.RAGGED if ragged else DimKind.DYNAMIC
        return self._new_symbol(name, kind, location or self.here, self.name, declared=True)

    @checked
    def tensor(self, name: str, dims: Iterable[int], dtype: DType | str) -> Tensor:
        """Declare a tensor in off-chip memory, filled from the inputs of that name."""
        self._check_name(name)
        expect(name not in self.tensors, f"tensor {name!r} is declared twice", GraphError)
        extents = tuple(dims)
        if len(extents) < 2 or min(extents) < 1:
            raise GraphError(f"tensor {name!r} must have at least two dimensions, integers >= 1, not {list(extents)}")
        if prod(extents) > MOST_SCALARS:
            raise GraphError(f"tensor {name!r} must have at most {MOST_SCALARS:,} scalars, not {prod(extents):,}")
        self.tensors[name] = Tensor(name, extents, as_dtype(dtype))
        return self.tensors[name]

    @checked
    def feedback(
        self, element: ElementType, dims: Iterable[Dim | int], *, name: str, location: Location | None = None
    ) -> Feedback:
        """Declare a feedback edge; read its ``stream`` now and `Feedback.close` it later."""
        self._claim(name, location or self.here)
        declared = StreamType(element, shape(dims))
        check_types([declared], self.symbols, self.name)
        self.feedbacks[name] = Feedback(name, declared, location or self.here, Stream(self, name, 0, declared))
        return self.feedbacks[name]

    @checked
    def add(
        self,
        operator: Operator,
        inputs: Sequence[Stream] = (),
        *,
        name: str | None = None,
        location: Location | None = None,
    ) -> tuple[Stream, ...]:
        """Place ``operator`` behind ``inputs``; returns its output streams.

        Raises `GraphError` for streams of another graph and names used twice, and `TypeMismatch` with the
        source lines of the operator and of all its inputs where types do not fit.
        """
        location = location or self.here
        node_name = self._next_name(operator.name) if name is None else name
        self._claim(node_name, location)
        for stream in inputs:
            self._check_own(stream, f"{operator.name} at {location} reads ")
        try:
            new = partial(self._symbol_of, node_name, location)
            names = Names(new, self._shared_symbols, [stream.key for stream in inputs])
            types = operator.infer(tuple(stream.type for stream in inputs), names)
            check_types(types, self.symbols, self.name)
        except TypeMismatch as error:
            origins = (f"{stream}: {stream.type}, from {self._where(stream.producer)}" for stream in inputs)
            lines = "".join(f"\n  input {port}: {each}" for port, each in enumerate(origins))
            raise TypeMismatch(f"{operator.name} {node_name!r} ({location}): {error}{lines}") from None
        self.nodes[node_name] = Node(node_name, operator, tuple(inputs), types, location)
        return tuple(Stream(self, node_name, port, each) for port, each in enumerate(types))

    @checked
    def refine(self, stream: Stream, dims: Iterable[Dim | int]) -> Stream:
        """Declare that ``stream`` has the shape ``dims``, where its operator only knows symbols.

        Every run checks it. Raises `TypeMismatch` where a dimension that is known already
        differs, and `GraphError` for a stream that somebody reads already.
        """
        refined = shape(dims)
        self._check_own(stream)
        if stream.producer in self.feedbacks:
            raise GraphError(f"assume_shape({stream}): a feedback edge has the shape that it is declared with")
        if len(refined) != len(stream.shape):
            raise TypeMismatch(
                f"{stream} has {len(stream.shape)} dimensions, so it can not have the shape {format_shape(refined)}"
            )
        for known, assumed in zip(stream.shape, refined, strict=True):
            if known.is_static and known != assumed:
                raise TypeMismatch(f"{stream} has the dimension {known}, so it can not have {assumed} there")
        producer, port = stream.key
        behind = takewhile(lambda node: node.name != producer, reversed(self.nodes.values()))
        fed = [edge.source for edge in self.feedbacks.values() if edge.source is not None]
        read = [*(node.inputs for node in behind), fed]
        if any(each.producer == producer and each.port == port for inputs in read for each in inputs):
            raise GraphError(f"assume_shape({stream}) must stand before the first reader of the stream")
        node = self.nodes[stream.producer]
        types = list(node.output_types)
        types[stream.port] = StreamType(stream.element, refined)
        check_types(types, self.symbols, self.name)
        self.nodes[node.name] = replace(node, output_types=tuple(types))
        self.refinements[str(stream)] = refined
        return replace(stream, type=types[stream.port])

    # -- looking ------------------------------------------------------------------------------------------------

    def resolve(self, stream: Stream) -> Stream:
        """``stream`` itself, or the writer of the feedback edge that it comes from.

        Raises `GraphError` for an edge that was never closed.
        """
        while stream.producer in self.feedbacks:
            edge = self.feedbacks[stream.producer]
            if edge.source is None:
                raise GraphError(
                    f"feedback {edge.name!r} ({edge.location}) is read, but nobody writes it; close it with a stream"
                )
            stream = Stream(self, edge.source.producer, edge.source.port, edge.source.type, stream.depth, stream.hops)
        return stream

    def readers(self) -> dict[tuple[str, int], list[tuple[Node, int]]]:
        """Readers (node and input port) of every stream, feedback resolved."""
        found: dict[tuple[str, int], list[tuple[Node, int]]] = {stream.key: [] for stream in self.streams()}
        for node in self:
            for port, stream in enumerate(node.inputs):
                found[self.resolve(stream).key].append((node, port))
        return found

    def sources(self) -> list[Node]:
        """The nodes that play data which a run is given under their names."""
        return [node for node in self if node.operator.given() is not None]

    def streams(self) -> Iterator[Stream]:
        """All streams that operators write, in order."""
        return (Stream(self, node.name, port, each) for node in self for port, each in enumerate(node.output_types))

    def stream_name(self, producer: str, port: int) -> str:
        """``node`` for a node's only output, ``node.suffix`` where it has several."""
        if producer in self.feedbacks:
            return producer
        suffix = self.nodes[producer].operator.outputs[port]
        return f"{producer}.{suffix}" if suffix else producer

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes.values())

    def __repr__(self) -> str:
        return f"<graph {self.name}: {len(self.nodes)} operators>"

    def _repr_svg_(self) -> str | None:
        """The picture that notebooks show."""
        return import_module("step.programs.pictures.drawing").picture(self)  # of a later room

    # -- helpers ------------------------------------------------------------------------------------------------

    def _new_symbol(self, name: str, kind: DimKind, born: Location, of: str, *, declared: bool = False) -> Dim:
        self._check_name(name)
        if name in self.symbols:
            raise GraphError(f"the symbol {name!r} is used twice: {self.symbols[name].born} and {born}")
        self.symbols[name] = SymbolInfo(symbol(name, kind), born, of, declared)
        return self.symbols[name].dim

    def _symbol_of(self, node: str, location: Location, hint: str, kind: DimKind = DimKind.DYNAMIC) -> Dim:
        """A new symbol for ``node``; in the ``hint`` there may be an expression."""
        stem = re.sub(r"[^A-Za-z0-9_]+", "_", f"{node}_{hint}")
        return self._new_symbol(unused(stem, self.symbols.__contains__), kind, location, node)

    def _next_name(self, stem: str) -> str:
        while True:
            self._counters[stem] = self._counters.get(stem, -1) + 1
            name = f"{stem}_{self._counters[stem]}"
            if name not in self.nodes and name not in self.feedbacks:
                return name

    def _claim(self, name: str, location: Location) -> None:
        if name in self.nodes or name in self.feedbacks:
            raise GraphError(f"the name {name!r} is used twice: {self._where(name)} and {location}")
        self._check_name(name)

    def _check_own(self, stream: Stream, reads: str = "") -> None:
        """Raise `GraphError` for a stream of another graph; ``reads`` begins to say who reads it."""
        if stream.graph is not self:
            raise GraphError(f"{reads}{stream} of {_beside(stream.graph.name, self.name)}")

    def _where(self, name: str) -> Location:
        return (self.nodes[name] if name in self.nodes else self.feedbacks[name]).location

    @staticmethod
    def _check_name(name: str) -> None:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise GraphError(f"a name must be letters, digits and underscores, and start with no digit, not {name!r}")


def _beside(other: str, mine: str) -> str:
    """Name of a graph in the error of the graph ``mine``, which can not read its streams."""
    if other == mine:
        return f"another graph, which is called {mine!r} as well, so nobody writes it in this one"
    return f"graph {other!r}, which nobody writes in graph {mine!r}"
