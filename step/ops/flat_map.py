"""FlatMap: every element becomes a stream, and those are concatenated."""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from step.language.dims import DimKind, derive
from step.language.function import FlatMapFunction
from step.language.operator import Kind, Names, Operator, Placed, Process, StreamType, Surroundings, expect
from step.language.stream import Stream, stream_method
from step.language.tokens import Token, empty


@dataclass(frozen=True)
class FlatMap(Operator):
    """``[Da..D1, D0]`` -> ``[Da..D1, D'b..D'0]``: the streams of the elements of D0 follow each other along D'b.

    The stop k of an element raises the last token of its stream to level k + b. Where an element may become nothing,
    a row may end behind its last token, so that one is held back until the next is seen.
    """

    function: FlatMapFunction

    kind = Kind.HIGHER_ORDER

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        expect(len(inputs) == 1, f"flat_map takes one stream, not {len(inputs)}")
        expect(isinstance(self.function, FlatMapFunction), f"flat_map needs a function to streams, not {self.function}")
        (stream,) = inputs
        outer, inner = stream.shape[-1], self.function.result_shape(stream.element)
        joined = derive(
            [outer, inner[0]], outer.extent * inner[0].extent, lambda: names.symbol("joined", DimKind.RAGGED)
        )
        # An extent that contains a ragged symbol, such as the rows of joined tiles, is a new ragged symbol.
        rest = [
            names.symbol(f"D{len(inner) - 1 - position}", DimKind.RAGGED)
            if each.is_ragged and not each.extent.is_Symbol
            else each
            for position, each in enumerate(inner[1:], start=1)
        ]
        return (StreamType(self.function.result_type(stream.element), (*stream.shape[:-1], joined, *rest)),)

    def process(self, node: Placed, around: Surroundings) -> Process:
        rank, (stream,) = self.function.rank, node.input_types
        holds = stream.rank > 0 and self.function.result_shape(stream.element)[0].may_be_empty
        held: list[Token] = []  # the last token of a row that is open
        while not (token := (yield 0)).done:
            stop = token.stop + rank
            if token.is_empty:
                around.emit(0, empty(token.rank + rank, stop))
                continue
            parts = list(self.function.expand(token.value))
            if parts:
                tokens = [*held, *parts[:-1], parts[-1]._replace(stop=stop)]
            elif token.stop:
                tokens = [held[0]._replace(stop=stop) if held else empty(rank + 1, stop)]
            else:
                continue
            held = [tokens.pop()] if holds and not token.stop else []
            for each in tokens:
                around.emit(0, each)
        around.emit(0, token)

    def flops(self, node: Placed) -> sympy.Expr:
        return node.input_types[0].count * self.function.flops(node.input_types[0].element)


@stream_method
def flat_map(stream: Stream, function: FlatMapFunction, *, name: str | None = None) -> Stream:
    """Replace every element by the stream that ``function`` makes of it."""
    return stream.graph.add(FlatMap(function), [stream], name=name)[0]
