"""Source: a stream that enters the fabric from outside."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from step.language.dims import Dim, Shape, mean, shape
from step.language.draft import Draft
from step.language.graph import Graph, graph_method
from step.language.operator import Names, Operator, Placed, Process, StreamType, Surroundings
from step.language.stream import Stream
from step.language.types import ElementType, Selector, Tile, Tuple, is_dynamic


@dataclass(frozen=True)
class Source(Operator):
    """Plays the tokens bound to the node's name, one a cycle at most.

    >>> graph = Graph("source")
    >>> x = graph.source("x", Tile(FP32), [3])
    >>> x.sink("y")
    """

    element: ElementType
    shape: Shape

    def given(self) -> StreamType:
        return StreamType(self.element, self.shape)

    def makes_rows(self, node: Placed) -> bool:
        return is_dynamic(self.element)

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        given = self.given()
        return (StreamType(_mean_sizes(self.element, given), given.shape),)

    def process(self, node: Placed, around: Surroundings) -> Process:
        yield from ()  # it waits for nothing
        for token in around.stream():
            around.emit(0, token)


def _mean_sizes(element: ElementType, given: StreamType) -> ElementType:
    """``element`` with the means of rows and columns that are ragged, of all tiles of the stream that is ``given``."""
    if isinstance(element, Tuple):
        return Tuple(tuple(_mean_sizes(item, given) for item in element.items))
    if not isinstance(element, Tile) or (element.rows.is_static and element.cols.is_static):
        return element
    rows, cols = (
        mean(each.extent, given.count) if each.is_ragged and each.extent.is_Symbol else each
        for each in (element.rows, element.cols)
    )
    return Tile(element.dtype, rows, cols)


@graph_method
def source(graph: Graph, name: str, element: ElementType, dims: Iterable[Dim | int]) -> Stream:
    """A stream of ``element`` and shape ``dims`` whose tokens come from the inputs under ``name``."""
    return graph.add(Source(element, shape(dims)), name=name)[0]


@graph_method
def selectors(graph: Graph, name: str, targets: int, dims: Iterable[Dim | int]) -> Stream:
    """A stream of multi-hot selectors over ``targets`` targets, from the inputs under ``name``.

    The data may be target indices, integers ``[*dims]`` (one each) or ``[*dims, k]`` (several each, also as lists of
    different lengths); multi-hot rows, booleans ``[*dims, targets]``; or ``step.masks(values)``, integers ``[*dims]``
    in which bit i stands for target i. Lists, tuples and arrays of the same content mean the same; rows of integers
    that could be indices or multi-hot rows are refused (docs/inputs.md).
    """
    return source(graph, name, Selector(targets), dims)


def sample(draft: Draft) -> None:
    """One more input."""
    draft.pool.append(draft.source())
