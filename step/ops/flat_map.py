"""FlatMap: every element becomes a stream, and those are concatenated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import sympy

from step.language.applying import _Applying, elements_of
from step.language.dims import DimKind, derive, product, total
from step.language.draft import HIGHEST_RANK, Draft
from step.language.faults import aligned
from step.language.function import RUN_TIME, CountedFunction, FlatMapFunction
from step.language.operator import Names, Placed, Process, StreamType, Surroundings, each_input, expect
from step.language.padding import Padding
from step.language.stream import Stream, stream_method
from step.language.tokens import Token, empty
from step.language.types import ElementType
from step.language.useful import PaddedApplication, rows_of


@dataclass(frozen=True)
class FlatMap(_Applying):
    """``[Da..D1, D0]`` -> ``[Da..D1, D'b..D'0]``: the streams of the elements of D0 follow each other along D'b.

    Inputs have the same shape; their elements are the operands of the function. The stop k of an element raises the
    last token of its stream to level k + b. Where an element may become nothing, a row may end behind its last token,
    so that one is held back until the next is seen.

    >>> graph = Graph("flat_map")
    >>> first, count = (graph.source(name, Tile(UINT32), [3]) for name in ("first", "count"))
    >>> first.flat_map(CountFrom(), count).sink("addresses")
    """

    function: FlatMapFunction = field()

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        elements, (*rows, outer) = self.operands(inputs)
        result, inner = self.function.result_type(*elements), self.function.result_shape(*elements)
        if isinstance(self.function, CountedFunction):
            expect(
                all(each.is_control for each in [*elements, result]),
                f"{self.function.name} makes selectors or addresses of selectors or addresses, "
                f"not {result} of {', '.join(map(str, elements))}",
            )
        fresh = partial(names.symbol, "joined", DimKind.RAGGED)
        if outer.extent == 1:
            joined = total(inner[0], inputs[0].count, fresh)
        else:  # ragged ones are told by the mean of an element
            joined = derive([outer, inner[0]], outer.extent * inner[0].extent, fresh)
        rest = [
            names.symbol("pieces", DimKind.RAGGED)
            if each == RUN_TIME
            else total(each, inputs[0].count, partial(names.symbol, f"D{len(inner) - 1 - position}", DimKind.RAGGED))
            for position, each in enumerate(inner[1:], start=1)
        ]
        return (StreamType(result, (*rows, joined, *rest)),)

    def padded(self, node: Placed, applied: PaddedApplication, made: sympy.Expr) -> Padding:
        whole = rows_of(node.output_types[0].element) == applied.height  # pieces of one tile have the same rows
        return applied.padded.times(made, applied.padded.alike + self.function.rank if whole else 0)

    def rows_made(self, node: Placed, *elements: ElementType) -> sympy.Expr:
        return rows_of(self.function.result_type(*elements)) * product(self.function.result_shape(*elements))

    def process(self, node: Placed, around: Surroundings) -> Process:
        rank, elements = self.function.rank, elements_of(node.input_types)
        holds = node.input_types[0].rank > 0 and self.function.result_shape(*elements)[0].may_be_empty
        held: list[Token] = []  # the last token of a row that is open
        while True:
            tokens = yield from each_input(node)
            token = aligned(*tokens)
            if token.done:
                around.emit(0, token)
                return
            stop = token.stop + rank
            if token.is_empty:
                around.emit(0, empty(token.rank + rank, stop))
                continue
            parts = list(self.function.expand(*(each.value for each in tokens)))
            if parts:
                made = [*held, *parts[:-1], parts[-1]._replace(stop=stop)]
            elif token.stop:
                made = [held[0]._replace(stop=stop) if held else empty(rank + 1, stop)]
            else:
                continue
            held = [made.pop()] if holds and not token.stop else []
            for each in made:
                around.emit(0, each)

    def decides_on(self, inputs: int) -> Sequence[int]:
        return range(inputs) if isinstance(self.function, CountedFunction) else ()

    def counts_rows(self, node: Placed) -> Sequence[int]:
        shape = self.function.result_shape(*elements_of(node.input_types))
        return () if isinstance(self.function, CountedFunction) or all(each.is_static for each in shape) else (0,)


@stream_method
def flat_map(stream: Stream, function: FlatMapFunction, *others: Stream, name: str | None = None) -> Stream:
    """Replace every element, with those of ``others`` of the same shape, by a stream that ``function`` makes."""
    return stream.graph.add(FlatMap(function), [stream, *others], name=name)[0]


WEIGHT = 11


def sample(draft: Draft) -> None:
    """Any function."""
    piece = draft.pick(lambda each: each.rank < HIGHEST_RANK, factor=4)
    if piece and (found := draft.applied(piece, FlatMapFunction)):
        function, (first, *others) = found
        draft.keep(first.flat_map(function, *others), timed=piece.timed)
