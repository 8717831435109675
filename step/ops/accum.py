"""Accum: reduces the inner dimensions of one or more streams of equal shape."""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from step.language.faults import Fault, Violation, aligned
from step.language.function import AccumFunction
from step.language.operator import (
    Accounting,
    Kind,
    Names,
    Operator,
    Placed,
    Process,
    StreamType,
    Surroundings,
    each_input,
    expect,
    expect_rank,
    expect_same_shape,
)
from step.language.stream import Stream, stream_method
from step.language.tokens import Token, empty


@dataclass(frozen=True)
class Accum(Operator):
    """Reduces the inner ``rank`` dimensions with ``function``; an empty reduction emits its initial state.

    An empty of a rank above ``rank`` holds no reduction at all: it stays an empty, of the dimensions that are left.
    """

    function: AccumFunction
    rank: int

    kind = Kind.HIGHER_ORDER

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        expect(len(inputs) >= 1, "accum needs at least one stream")
        expect(isinstance(self.function, AccumFunction), f"accum needs a reduction, not {self.function}")
        shape = expect_same_shape(inputs)
        expect_rank(self.rank, 1, len(shape) - 1)
        state = self.function.state_type(shape[-self.rank :], *(each.element for each in inputs))
        return (StreamType(state, shape[: -self.rank]),)

    def process(self, node: Placed, around: Surroundings) -> Process:
        element = node.output_types[0].element
        initial = self.function.initial(element)
        state = initial
        while True:
            tokens = yield from each_input(node)
            token = aligned(*tokens)
            if token.done:
                around.emit(0, token)
                return
            if token.rank > self.rank:
                around.emit(0, empty(token.rank - self.rank, token.stop - self.rank))
                continue
            if token.has_value:
                state = self.function.update(state, *(each.value for each in tokens))
            if token.stop >= self.rank:
                if not element.accepts(state):
                    raise Violation(Fault.WRONG_COUNT)
                around.emit(0, Token(state, token.stop - self.rank))
                state = initial

    def on_chip_bytes(self, node: Placed, accounting: Accounting) -> sympy.Expr:
        operands = self.function.operand_bytes(*(each.element for each in node.input_types))
        state = node.output_types[0].element.bytes
        return operands + state if accounting == "paper" else state

    def flops(self, node: Placed) -> sympy.Expr:
        return node.input_types[0].count * self.function.flops(*(each.element for each in node.input_types))


@stream_method
def accum(stream: Stream, function: AccumFunction, *others: Stream, rank: int = 1, name: str | None = None) -> Stream:
    """Reduce the inner ``rank`` dimensions of this stream and ``others``, which have the same shape."""
    return stream.graph.add(Accum(function, rank), [stream, *others], name=name)[0]
