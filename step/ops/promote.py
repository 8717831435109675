"""Promote: one more dimension around the whole stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from step.language.dims import Dim, DimKind, at_most_one
from step.language.draft import HIGHEST_RANK, Draft
from step.language.expecting import only
from step.language.operator import Names, Operator, Placed, StreamType
from step.language.padding import Padding
from step.language.stream import Stream, stream_method


@dataclass(frozen=True)
class Promote(Operator):
    """``[Da..]`` -> ``[1 if Da > 0 else 0, Da..]``: the last stop of the stream is raised by one.

    Which token is the last one shows only when Done is there, so every token waits for the next one.

    >>> graph = Graph("promote")
    >>> x = graph.source("x", Tile(FP32), [3])
    >>> x.promote().sink("row")
    """

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        stream = only(inputs, "promote takes")
        outer = stream.shape[0]
        kind = DimKind.STATIC if outer.is_static else DimKind.DYNAMIC
        return (StreamType(stream.element, (Dim(at_most_one(outer.extent), kind), *stream.shape)),)

    def padding(self, node: Placed, inputs: Sequence[Padding]) -> tuple[Padding, ...]:
        return (inputs[0],)


@stream_method
def promote(stream: Stream, *, name: str | None = None) -> Stream:
    """Wrap the whole stream into one more dimension of extent 1 (0 for an empty stream)."""
    return stream.graph.add(Promote(), [stream], name=name)[0]


def sample(draft: Draft) -> None:
    """Around anything."""
    if piece := draft.pick(lambda each: each.rank < HIGHEST_RANK):
        draft.keep(draft.read(piece).promote(), timed=piece.timed)
