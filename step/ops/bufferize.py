"""Bufferize: collects the inner dimensions of a stream in on-chip memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy

from step.language.dims import format_shape
from step.language.draft import Draft
from step.language.expecting import expect_element, only
from step.language.operator import (
    Accounting,
    Names,
    Operator,
    Placed,
    Process,
    StreamType,
    Surroundings,
    expect,
    expect_rank,
)
from step.language.padding import Padding, has_padding
from step.language.stream import Stream, stream_method
from step.language.tokens import Token, empty
from step.language.types import Buffer, Tile


@dataclass(frozen=True)
class Bufferize(Operator):
    """``[Da..Db, D(b-1)..D0]`` -> ``[Da..Db]`` of buffers ``[D(b-1)..D0]``, where b is ``rank``.

    What comes up to a stop of b or more is a buffer; a reference to it leaves when it is complete, with what is left
    of the stop. The value of a reference is the tuple of the buffer's tokens, each with its stop inside of it. An
    empty of a rank above b holds no buffer: it stays an empty, of the dimensions that are left.

    >>> graph = Graph("bufferize")
    >>> rows = graph.source("x", Tile(BF16, 4, 4), [3, 2]).bufferize()
    >>> rows.streamify().sink("again")
    """

    rank: int

    fills_buffers = True

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        stream = only(inputs, "bufferize takes")
        tile = expect_element(stream.element, Tile, "a buffer holds tiles")
        expect_rank(self.rank, 1, stream.rank)
        shape = stream.shape[-self.rank :]
        expect(
            not any(each.is_ragged for each in shape[1:]),
            f"only the outermost dimension of a buffer may be ragged, but its shape is {format_shape(shape)}",
        )
        return (StreamType(Buffer(tile, shape), stream.shape[: -self.rank]),)

    def padding(self, node: Placed, inputs: Sequence[Padding]) -> tuple[Padding, ...]:
        return (inputs[0] if has_padding(inputs[0]) else None,)

    def process(self, node: Placed, around: Surroundings) -> Process:
        held: list[Token] = []
        while not (token := (yield 0)).done:
            if token.rank > self.rank:
                around.emit(0, empty(token.rank - self.rank, token.stop - self.rank))
                continue
            held.append(token._replace(stop=min(token.stop, self.rank)))
            if token.stop >= self.rank:
                around.emit(0, Token(tuple(held), token.stop - self.rank))
                held = []
        around.emit(0, token)

    def on_chip_bytes(self, node: Placed, accounting: Accounting) -> sympy.Expr:
        """Bytes on chip: those that come in, and two buffers, one filled while the other one is read."""
        return node.input_types[0].element.bytes + 2 * node.output_types[0].element.bytes


@stream_method
def bufferize(stream: Stream, *, rank: int = 1, name: str | None = None) -> Stream:
    """Collect the inner ``rank`` dimensions in on-chip memory; ``streamify`` reads them."""
    return stream.graph.add(Bufferize(rank), [stream], name=name)[0]


WEIGHT = 1


def sample(draft: Draft) -> None:
    """A buffer that is read once, in its order."""
    if piece := draft.stored():
        buffers, _ = draft.fill(piece)
        draft.keep(buffers.streamify(), timed=piece.timed)
