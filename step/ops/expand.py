"""Expand: repeats elements, as often as a reference stream or a constant says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy

from step.language.dims import dim, format_shape
from step.language.draft import HIGHEST_RANK, Draft, inside
from step.language.operator import (
    Accounting,
    Names,
    Operator,
    Placed,
    StreamType,
    expect,
    expect_rank,
)
from step.language.padding import UNKNOWN, Padding
from step.language.stream import Stream, stream_method
from step.language.useful import static_product


@dataclass(frozen=True)
class Expand(Operator):
    """With a reference: ``[Da.., 1 x rank]`` and ref ``[Da.., D(rank-1)..D0]`` -> the shape of the reference.

    The element held is repeated per element of the reference, whose empties pass. A reference stop >= ``rank`` moves on
    to the next element, and must be this one's stop; an empty of a rank above ``rank`` stands in both streams. Static
    (``count`` given, no reference): the innermost 1 becomes ``count``.

    >>> graph = Graph("expand")
    >>> x = graph.source("x", Tile(FP32), [2, 1])
    >>> x.expand(graph.source("reference", Tile(FP32), [2, 3])).sink("repeated")
    """

    rank: int = 1
    count: int | None = None

    data = (0,)  # the reference only gives the stops

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        wanted = 2 if self.count is None else 1
        expect(len(inputs) == wanted, f"expand takes {wanted} streams here, not {len(inputs)}")
        data = inputs[0]
        # A reference moves on at stops, so it needs a dimension outside of those that it repeats along.
        expect_rank(self.rank, 1, data.rank + (self.count is not None))
        expect(
            all(each == dim(1) for each in data.shape[-self.rank :]),
            f"the innermost {self.rank} dimensions of the data must be 1, but its shape is {format_shape(data.shape)}",
        )
        if self.count is not None:
            expect(self.rank == 1, f"a static expand has rank 1, not {self.rank}")
            expect(self.count >= 1, f"count must be at least 1, not {self.count}")
            return (StreamType(data.element, (*data.shape[:-1], dim(self.count))),)
        reference = inputs[1]
        expect(
            reference.shape[: -self.rank] == data.shape[: -self.rank],
            f"data and reference must agree outside of the innermost {self.rank} dimensions, "
            f"but they are {format_shape(data.shape)} and {format_shape(reference.shape)}",
        )
        return (StreamType(data.element, reference.shape),)

    def padding(self, node: Placed, inputs: Sequence[Padding]) -> tuple[Padding, ...]:
        given = inputs[0]
        if given is None or given.flags:
            return (None,)
        again = static_product(node.output_types[0].shape[-self.rank :])
        return (UNKNOWN if again is None else given.times(again, max(given.alike, self.rank)),)

    def on_chip_bytes(self, node: Placed, accounting: Accounting) -> sympy.Expr:
        return node.output_types[0].element.bytes


@stream_method
def expand(stream: Stream, reference: Stream, *, rank: int = 1, name: str | None = None) -> Stream:
    """Repeat each element per element of ``reference``, whose inner ``rank`` dimensions are 1 in this stream."""
    return stream.graph.add(Expand(rank), [stream, reference], name=name)[0]


@stream_method
def expand_static(stream: Stream, count: int, *, name: str | None = None) -> Stream:
    """Repeat each element ``count`` times: the innermost dimension, 1, becomes ``count``."""
    return stream.graph.add(Expand(1, count), [stream], name=name)[0]


@stream_method
def repeat(stream: Stream, count: int, *, name: str | None = None) -> Stream:
    """``[.., D0]`` -> ``[.., D0, count]``: short for a Reshape into chunks of one and a static Expand."""
    chunks, _ = stream.reshape(1, name=f"{name}_chunks" if name else None)
    return chunks.expand_static(count, name=name)


WEIGHT = 7


def sample(draft: Draft) -> None:
    """Along a reference, or a number of times: an innermost dimension of one, or every element."""
    how = draft.random.choice(["reference", "reference", "static", "repeat"])
    if how == "reference" and (reference := draft.pick(lambda each: each.rank > 0 and not each.timed)):
        rank, element = draft.random.randint(1, min(3, reference.rank)), draft.tile()

        def ones(levels: int) -> object:
            return [ones(levels - 1)] if levels else draft.value(element)

        outer = reference.rank + 1 - rank
        nested = inside(outer, lambda _: ones(rank), reference.nested)
        data = draft.play("ones", element, nested, [*reference.stream.shape[:outer], *[1] * rank])
        draft.keep(draft.read(data).expand(draft.read(reference), rank=rank))
    elif how == "static" and (
        piece := draft.pick(lambda each: each.rank > 0 and each.stream.shape[-1] == dim(1), factor=4)
    ):
        draft.keep(draft.read(piece).expand_static(draft.random.randint(1, 4)), timed=piece.timed)
    elif piece := draft.pick(lambda each: each.rank < HIGHEST_RANK, factor=3):
        draft.keep(draft.read(piece).repeat(draft.random.randint(1, 3)), timed=piece.timed)
