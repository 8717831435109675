"""EagerMerge: chunks of several streams in one, as they come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy

from step.language.chunks import common_chunk, expect_equal_chunks, together
from step.language.dims import DimKind, derive
from step.language.draft import HIGHEST_RANK, Draft
from step.language.graph import Graph, graph_method
from step.language.operator import Names, Operator, Placed, StreamType, expect
from step.language.padding import Padding
from step.language.stream import Stream
from step.language.types import Selector
from step.language.useful import merged

DATA, SELECTOR = 0, 1


@dataclass(frozen=True)
class EagerMerge(Operator):
    """Chunks of rank ``rank`` from all inputs, each whole, in the order in which they come (ties: lowest index).

    The second output tells where each chunk is from, by a selector of one target that leaves with its first token. Both
    end when all inputs have. Without times all of the first input comes first, unless it has to wait for another one,
    or the run replays the order of a timed one, as far as that came.

    >>> graph = Graph("eager_merge")
    >>> data, which = graph.eager_merge([graph.source(name, Tile(FP32), [2]) for name in "ab"])
    >>> data.sink("y")
    """

    rank: int

    output_names = ("", "selector")
    optional_outputs = ("", "selector")  # who comes first may be all that matters

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        expect(len(inputs) >= 1, "eager merge takes at least one stream")
        expect_equal_chunks(inputs, self.rank)
        outer = [each.shape[0] for each in inputs]
        total = sum((each.extent for each in outer), sympy.Integer(0))
        count = derive(outer, total, lambda: names.symbol("chunks", DimKind.RAGGED))
        merged = together(inputs, (count, *common_chunk(inputs, names)), names)
        return merged, StreamType(Selector(len(inputs)), (count,))

    def padding(self, node: Placed, inputs: Sequence[Padding]) -> tuple[Padding, ...]:
        return merged(node, inputs, range(len(inputs))), None

    def passes_on(self, inputs: int, output: int) -> Sequence[int]:
        return range(inputs) if output == DATA else ()

    def arrival_ports(self, inputs: int) -> Sequence[int]:
        return range(inputs)


@graph_method
def eager_merge(
    graph: Graph, inputs: Sequence[Stream], *, rank: int = 0, name: str | None = None
) -> tuple[Stream, Stream]:
    """The chunks of rank ``rank`` of all ``inputs`` as they come, and selectors that tell where each is from."""
    data, selector = graph.add(EagerMerge(rank), inputs, name=name)
    return data, selector


WEIGHT = 2


def sample(draft: Draft) -> None:
    """Chunks from anywhere."""
    if first := draft.pick(lambda each: each.rank < HIGHEST_RANK):
        others = [each for each in draft.pool if each.has_chunks_of(first)] or [first]
        pieces = [first, *draft.random.choices(others, k=draft.random.randint(0, 2))]
        merged, which = draft.graph.eager_merge([draft.read(each) for each in pieces], rank=first.rank)
        draft.keep(merged, *[which] * draft.chance(0.7), timed=True)
