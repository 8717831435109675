"""FlatMap: every element becomes a stream, and those are concatenated."""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from step.language.dims import DimKind, derive
from step.language.function import FlatMapFunction
from step.language.operator import Kind, Names, Operator, Placed, Process, StreamType, Surroundings, expect
from step.language.stream import Stream, stream_method
from step.language.tokens import Token, bare


@dataclass(frozen=True)
class FlatMap(Operator):
    """``[Da..D1, D0]`` -> ``[Da..D1, D'b..D'0]``: the streams of the elements of D0 follow each other along D'b.

    The stop k of an element raises the last token of its stream to level k + b.
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
        return (StreamType(self.function.result_type(stream.element), (*stream.shape[:-1], joined, *inner[1:])),)

    def process(self, node: Placed, around: Surroundings) -> Process:
        rank = self.function.rank
        held: Token | None = None

        def release() -> None:
            nonlocal held
            if held is not None:
                around.emit(0, held)
                held = None

        while not (token := (yield 0)).done:
            parts = list(self.function.expand(token.value)) if token.has_value else []
            if parts:
                release()
                for part in parts[:-1]:
                    around.emit(0, part)
                held = parts[-1]._replace(stop=token.stop + rank)
            elif token.has_value and held is not None and held.stop == rank:
                # An element that became nothing ends what the one before it left open.
                held = held._replace(stop=token.stop + rank)
            elif token.stop:
                release()
                around.emit(0, bare(token.stop + rank))
        release()
        around.emit(0, token)

    def flops(self, node: Placed) -> sympy.Expr:
        return node.input_types[0].count * self.function.flops(node.input_types[0].element)


@stream_method
def flat_map(stream: Stream, function: FlatMapFunction, *, name: str | None = None) -> Stream:
    """Replace every element by the stream that ``function`` makes of it."""
    return stream.graph.add(FlatMap(function), [stream], name=name)[0]
