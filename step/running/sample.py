"""Input data made up for a program: zeros or random numbers, in streams whose shapes go together.

The extent of a symbol that the program declares is chosen, once for all of its sources. Where a symbol follows from
data, as the number of rows that a Partition sends somewhere, the part of the program that it follows from is
interpreted on what was made up before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from step.errors import InputError, SimulationError, expect
from step.language.dims import Dim
from step.language.dtypes import BOOL, UINT32, DType
from step.language.faults import tuple_of
from step.language.graph import Graph, Node
from step.language.operator import StreamType
from step.language.stream import Stream
from step.language.symbols import check_values
from step.language.tokens import Token, extents_of, from_nested, to_nested
from step.language.types import ElementType, Selector, Tile, Tuple
from step.programs.data.inputs import BoundInputs, bind_inputs
from step.running.interpreter import interpret

TEMPLATE_EXTENT = 2
LARGEST_EXTENT = 4


def sample(
    graph: Graph,
    *,
    seed: int | None = None,
    bindings: Mapping[str, int] | None = None,
    own: Mapping[str, Any] | None = None,
    keep: Collection[str] = (),
) -> BoundInputs:
    """Data for all tensors and sources of ``graph``: zeros and target 0, or with a ``seed`` random ones.

    A symbol has the extent that ``bindings`` say (ragged: the sum over all tensors), else 2, or with a seed 0 to 4.
    The inputs named in ``keep`` are those of ``own``. Raises `InputError` for bindings of symbols that follow from
    data, and where that can not be computed, and `UnboundSymbol` for bindings of symbols that there are not.
    """
    check_values(bindings or {}, graph)
    return _InputMaker(graph, seed, bindings or {}, _kept(graph, own or {}, keep)).made()


def _kept(graph: Graph, own: Mapping[str, Any], keep: Collection[str]) -> BoundInputs:
    known = [*graph.tensors, *(node.name for node in graph.sources())]
    for name in keep:
        if name not in known:
            raise InputError(f"the program has no tensor or source {name!r}; it has {', '.join(known) or 'none'}")
        expect(name in own, f"input {name!r} can not be kept: the program has no data", InputError)
    bound = bind_inputs(graph, own) if keep else BoundInputs({}, {})
    tensors = {name: each for name, each in bound.tensors.items() if name in keep}
    return BoundInputs(tensors, {name: each for name, each in bound.streams.items() if name in keep})


class _InputMaker:
    def __init__(self, graph: Graph, seed: int | None, bindings: Mapping[str, int], kept: BoundInputs) -> None:
        self.graph, self.bindings = graph, dict(bindings)
        self.random = None if seed is None else np.random.default_rng(seed)
        self.tensors, self.streams = dict(kept.tensors), dict(kept.streams)
        self.extents: dict[str, int] = {}
        self.ragged: dict[tuple[str, int], list[int]] = {}
        self.open: list[str] = []
        for name, tokens in kept.streams.items():
            self.see(graph.nodes[name].output_types[0], tokens)
        for name in self.bindings:
            if name in self.extents:
                raise InputError(f"symbol {name!r} can not be chosen: it follows from what is kept")
            if not self.is_chosen(name):
                raise InputError(f"symbol {name!r} can not be chosen: it follows from the data of {self.roots(name)}")

    def made(self) -> BoundInputs:
        for name, tensor in self.graph.tensors.items():
            if name not in self.tensors:
                self.tensors[name] = self.numbers(tensor.dtype, tensor.shape)
        for node in self.graph.sources():
            self.make(node)
        for name in self.bindings:
            if name not in self.extents:
                raise InputError(f"symbol {name!r} is the extent of no source, so it can not be chosen")
        return BoundInputs(self.tensors, self.streams)

    # -- streams ----------------------------------------------------------------------------------------------------

    def make(self, node: Node) -> None:
        """Make up what the source at ``node`` plays, unless that is there already."""
        if node.name in self.streams:
            return
        self.open.append(node.name)
        stream = node.output_types[0]
        count, levels = 1, []
        for dim in stream.shape:
            levels.append(self.extents_of(dim, count))
            count = sum(levels[-1])
        nested: list[Any] = self.elements(stream.element, count)
        for extents in reversed(levels):
            ends = np.cumsum([0, *extents]).tolist()
            nested = [nested[start:end] for start, end in pairwise(ends)]
        self.streams[node.name] = from_nested(nested[0], stream.rank)
        self.open.pop()

    def elements(self, element: ElementType, count: int) -> list[Any]:
        match element:
            case Tile(dtype=dtype, rows=rows, cols=cols):
                shapes = zip(self.extents_of(rows, count), self.extents_of(cols, count), strict=True)
                return [self.numbers(dtype, shape) for shape in shapes]
            case Selector(targets=targets):
                return [1 << (0 if self.random is None else int(self.random.integers(targets))) for _ in range(count)]
            case Tuple(items=items):
                return list(map(tuple_of(items), zip(*(self.elements(item, count) for item in items), strict=True)))
        raise InputError(f"source {self.open[-1]!r}: a stream of {element} can not be made up")

    def numbers(self, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
        if self.random is None:
            return np.zeros(shape, dtype.numpy)
        if dtype.is_float:
            return self.random.standard_normal(shape).astype(dtype.numpy)
        low, high = (0, 2) if dtype is BOOL else (0, 100) if dtype is UINT32 else (-100, 100)
        return self.random.integers(low, high, shape).astype(dtype.numpy)

    # -- extents ----------------------------------------------------------------------------------------------------

    def extents_of(self, dim: Dim, count: int) -> list[int]:
        """The extent of ``dim`` in each of ``count`` tensors."""
        if not dim.is_ragged:
            return [int(dim.extent.subs({each: self.extent(str(each)) for each in dim.extent.free_symbols}))] * count
        name = str(dim)
        if (name, count) not in self.ragged:
            if self.is_chosen(name):
                self.ragged[name, count] = self.choose_ragged(name, count)
                self.extents.setdefault(name, sum(self.ragged[name, count]))
            else:
                self.measure(name)
        if (name, count) not in self.ragged:
            raise InputError(
                f"source {self.open[-1]!r} can not be made up: it has {name} in {count} tensors, "
                "but the stream that this symbol is from has another number of them"
            )
        return self.ragged[name, count]

    def choose_ragged(self, name: str, count: int) -> list[int]:
        if name not in self.bindings:
            return [self.small() for _ in range(count)]
        total = self.bindings[name]
        if not count:
            if total:
                raise InputError(f"symbol {name!r} can not be {total}: there is no tensor that could have elements")
            return []
        if self.random is None:
            return [total // count + (position < total % count) for position in range(count)]
        return self.random.multinomial(total, np.full(count, 1 / count)).tolist()

    def extent(self, name: str) -> int:
        """The value of a symbol; a ragged one is the sum over all tensors."""
        if name not in self.extents:
            if self.is_chosen(name):
                self.extents[name] = self.bindings[name] if name in self.bindings else self.small()
            else:
                self.measure(name)
        return self.extents[name]

    def small(self) -> int:
        return TEMPLATE_EXTENT if self.random is None else int(self.random.integers(LARGEST_EXTENT + 1))

    # -- symbols that follow from data ------------------------------------------------------------------------------

    def streams_with(self, name: str) -> list[Stream]:
        """The streams of which a symbol is a dimension, in the order of the program."""
        return [stream for stream in self.graph.streams() if any(str(dim) == name for dim in stream.shape)]

    def is_chosen(self, name: str) -> bool:
        """Whether nothing but sources decides the symbol."""
        first = next(iter(self.streams_with(name)), None)
        return first is None or self.graph.nodes[first.producer].operator.given() is not None

    def measure(self, name: str) -> None:
        """Interpret what decides the symbol."""
        for stream in self.streams_with(name):
            part = self.part(stream.producer)
            sources = part.sources()
            if any(node.name in self.open for node in sources):
                continue
            for node in sources:
                self.make(node)
            played = {node.name: self.streams[node.name] for node in sources}
            try:
                run = interpret(part, BoundInputs(self.tensors, played), record=True)
            except SimulationError as error:
                raise InputError(
                    f"source {self.open[-1]!r} can not be made up: its {name} follows from the data of "
                    f"{self.roots(name)}, on which the program fails: {error}"
                ) from None
            for each in part.streams():
                self.see(each.type, run.streams[str(each)])
            self.extents.setdefault(name, 0)  # no tensor showed it
            return
        raise InputError(f"source {self.open[-1]!r} can not be made up: its {name} follows from its own data")

    def roots(self, name: str) -> str:
        part = self.part(self.streams_with(name)[0].producer)
        sources = [node.name for node in part.sources()]
        return ", ".join(repr(each) for each in sources) or repr(next(iter(part)).name)

    def part(self, name: str) -> Graph:
        """The program as far as the node ``name`` reads from it."""
        import networkx  # which takes a while

        graph = self.graph
        edges = [(graph.resolve(stream).producer, node.name) for node in graph for stream in node.inputs]
        wanted = {name, *networkx.ancestors(networkx.DiGraph([*edges, (name, name)]), name)}
        nodes = {node.name: node for node in graph if node.name in wanted}
        return Graph(graph.name, nodes=nodes, tensors=graph.tensors, symbols=graph.symbols, feedbacks=graph.feedbacks)

    def see(self, stream: StreamType, tokens: Iterable[Token]) -> None:
        """Note the extents of a stream's symbols, unless they are known."""
        nested = to_nested(tokens, stream.rank)
        for dim, extents in zip(stream.shape, extents_of([nested], len(stream.shape)), strict=True):
            if not dim.extent.is_Symbol:
                continue
            if dim.is_ragged:
                self.ragged.setdefault((str(dim), len(extents)), extents)
                self.extents.setdefault(str(dim), sum(extents))
            elif extents:
                self.extents.setdefault(str(dim), extents[0])
