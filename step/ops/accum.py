"""Accum: reduces the inner dimensions of one or more streams of equal shape."""

from __future__ import annotations

from dataclasses import dataclass

from step.language.faults import Fault, Violation
from step.language.function import AccumFunction
from step.language.operator import Names, Placed, Process, StreamType, Surroundings, each_aligned
from step.language.reduction import _Reduction
from step.language.stream import Stream, stream_method
from step.language.tokens import Token, empty
from step.samples.draft import Draft


@dataclass(frozen=True)
class Accum(_Reduction):
    """Reduces the inner ``rank`` dimensions with ``function``; an empty reduction emits its initial state.

    An empty of a rank above ``rank`` holds no reduction at all: it stays an empty, of the dimensions that are left.

    >>> graph = Graph("accum")
    >>> x = graph.source("x", Tile(FP32), [2, 3])
    >>> x.accum(Add()).sink("sums")
    """

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        state, shape = self.state(inputs)
        return (StreamType(state, shape[: -self.rank]),)

    def process(self, node: Placed, around: Surroundings) -> Process:
        element = node.output_types[0].element
        initial = self.function.initial(element)
        state, count = initial, 0
        while True:
            token, tokens = yield from each_aligned(node)
            if token.done:
                around.emit(0, token)
                return
            if token.rank > self.rank:
                around.emit(0, empty(token.rank - self.rank, token.stop - self.rank))
                continue
            if token.has_value:
                self.check_rows(node, count, state, tokens)
                count += 1
                state = self.function.update(state, *(each.value for each in tokens))
                around.fits(0, state)
            if token.stop >= self.rank:
                if not element.accepts(state):
                    raise Violation(Fault.WRONG_COUNT)
                around.emit(0, Token(state, token.stop - self.rank))
                state, count = initial, 0


@stream_method
def accum(stream: Stream, function: AccumFunction, *others: Stream, rank: int = 1, name: str | None = None) -> Stream:
    """Reduce the inner ``rank`` dimensions of this stream and ``others``, which have the same shape."""
    return stream.graph.add(Accum(function, rank), [stream, *others], name=name)[0]


WEIGHT = 8


def sample(draft: Draft) -> None:
    """Any function, over any innermost dimensions."""
    if piece := draft.pick(lambda each: each.rank > 0):
        rank = draft.random.randint(1, piece.rank)
        reduced = piece.stream.shape[-rank:]
        state = lambda function, *elements: function.state_type(reduced, *elements)  # noqa: E731
        if found := draft.applied(piece, AccumFunction, state):
            function, (first, *others) = found
            draft.keep(first.accum(function, *others, rank=rank), timed=piece.timed)
