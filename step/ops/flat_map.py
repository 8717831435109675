"""FlatMap: every element becomes a stream, and those are concatenated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import sympy

from step.language.dims import Dim, DimKind, FreshSymbol, derive, product, total
from step.language.draft import HIGHEST_RANK, Draft
from step.language.faults import aligned
from step.language.function import RUN_TIME, CountedFunction, FlatMapFunction
from step.language.operator import (
    Kind,
    Names,
    Operator,
    Placed,
    Process,
    StreamType,
    Surroundings,
    each_input,
    expect,
    expect_same_shape,
)
from step.language.padding import UNKNOWN, Padding, has_padding
from step.language.stream import Stream, stream_method
from step.language.tokens import Token, empty
from step.language.types import ElementType
from step.language.useful import PaddedApplication, rows_of, useful_flops


@dataclass(frozen=True)
class FlatMap(Operator):
    """``[Da..D1, D0]`` -> ``[Da..D1, D'b..D'0]``: the streams of the elements of D0 follow each other along D'b.

    Inputs have the same shape; their elements are the operands of the function. The stop k of an element raises the
    last token of its stream to level k + b. Where an element may become nothing, a row may end behind its last token,
    so that one is held back until the next is seen.

    >>> graph = Graph("flat_map")
    >>> first, count = (graph.source(name, Tile(UINT32), [3]) for name in ("first", "count"))
    >>> first.flat_map(CountFrom(), count).sink("addresses")
    """

    function: FlatMapFunction = field()

    kind = Kind.HIGHER_ORDER

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        expect(len(inputs) >= 1, "flat_map needs at least one stream")
        elements = [each.element for each in inputs]
        *rows, outer = expect_same_shape(inputs)
        result, inner = self.function.result_type(*elements), self.function.result_shape(*elements)
        if isinstance(self.function, CountedFunction):
            expect(
                all(each.is_control for each in [*elements, result]),
                f"{self.function.name} makes selectors or addresses of selectors or addresses, "
                f"not {result} of {', '.join(map(str, elements))}",
            )
        joined = self._joined(outer, inner[0], inputs[0].count, partial(names.symbol, "joined", DimKind.RAGGED))
        rest = [
            names.symbol("pieces", DimKind.RAGGED)
            if each == RUN_TIME
            else total(each, inputs[0].count, partial(names.symbol, f"D{len(inner) - 1 - position}", DimKind.RAGGED))
            for position, each in enumerate(inner[1:], start=1)
        ]
        return (StreamType(result, (*rows, joined, *rest)),)

    @staticmethod
    def _joined(outer: Dim, pieces: Dim, elements: sympy.Expr, fresh: FreshSymbol) -> Dim:
        """The dimension of the ``pieces`` of all elements in a row; ragged ones are told by the mean of an element."""
        if outer.extent == 1:
            return total(pieces, elements, fresh)
        return derive([outer, pieces], outer.extent * pieces.extent, fresh)

    def padding(self, node: Placed, inputs: Sequence[Padding]) -> tuple[Padding, ...]:
        if not any(map(has_padding, inputs)):
            return (None,)
        applied = PaddedApplication.of(self.function, node, inputs)
        made = None if applied is None else applied.made_of_a_row(self._made)
        if applied is None or made is None:
            return (UNKNOWN,)
        whole = rows_of(node.output_types[0].element) == applied.height  # pieces of one tile have the same rows
        alike = applied.padded.alike
        return (applied.padded.times(made, alike + self.function.rank if whole else 0),)

    def _made(self, *elements: ElementType) -> sympy.Expr:
        """Rows of all pieces of an element."""
        return rows_of(self.function.result_type(*elements)) * product(self.function.result_shape(*elements))

    def useful_flops(self, node: Placed, inputs: Sequence[Padding]) -> sympy.Expr | None:
        return useful_flops(self.function, node, inputs, self._made)

    def process(self, node: Placed, around: Surroundings) -> Process:
        rank, elements = self.function.rank, [each.element for each in node.input_types]
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
        elements = [each.element for each in node.input_types]
        counted = isinstance(self.function, CountedFunction)
        return () if counted or all(each.is_static for each in self.function.result_shape(*elements)) else (0,)

    def flops(self, node: Placed) -> sympy.Expr:
        return node.input_types[0].count * self.function.flops(*(each.element for each in node.input_types))


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
