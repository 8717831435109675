"""Accum: reduces the inner dimensions of one or more streams of equal shape."""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from step.faults import Fault, Violation, aligned
from step.function import AccumFunction
from step.graph import Node
from step.metric_rules import matmul_operands
from step.operator import (
    Accounting,
    Names,
    Operator,
    Process,
    StreamType,
    Surroundings,
    each_input,
    expect,
    expect_rank,
    expect_same_shape,
)
from step.stream import Stream, stream_method
from step.tokens import OPEN, Token, bare


@dataclass(frozen=True)
class Accum(Operator):
    """Reduces the inner ``rank`` dimensions with ``function``; an empty reduction emits its initial state.

    A bare stop that stands for an empty tensor of more than ``rank`` dimensions holds no reduction at all, and
    stays a bare stop.
    """

    function: AccumFunction
    rank: int

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        expect(len(inputs) >= 1, "accum needs at least one stream")
        expect(isinstance(self.function, AccumFunction), f"accum needs a reduction, not {self.function}")
        shape = expect_same_shape(inputs)
        expect_rank(self.rank, 1, len(shape) - 1)
        state = self.function.state_type(shape[-self.rank :], *(each.element for each in inputs))
        return (StreamType(state, shape[: -self.rank]),)

    def process(self, node: Node, around: Surroundings) -> Process:
        element = node.output_types[0].element
        initial = self.function.initial(element)
        state, before = initial, OPEN
        while True:
            tokens = yield from each_input(node)
            token = aligned(*tokens)
            if token.done:
                around.emit(0, token)
                return
            if token.has_value:
                state = self.function.update(state, *(each.value for each in tokens))
            if token.stop >= self.rank:
                if token.is_bare and min(token.stop, before) > self.rank:
                    around.emit(0, bare(token.stop - self.rank))
                else:
                    if not element.accepts(state):
                        raise Violation(Fault.WRONG_COUNT)
                    around.emit(0, Token(state, token.stop - self.rank))
                state = initial
            before = token.stop

    def on_chip_bytes(self, node: Node, accounting: Accounting) -> sympy.Expr:
        operands = matmul_operands(self.function, node) if accounting == "paper" else sympy.Integer(0)
        return operands + node.output_types[0].element.bytes

    def flops(self, node: Node) -> sympy.Expr:
        return node.inputs[0].type.count * self.function.flops(*(each.element for each in node.inputs))


@stream_method
def accum(stream: Stream, function: AccumFunction, *others: Stream, rank: int = 1, name: str | None = None) -> Stream:
    """Reduce the inner ``rank`` dimensions of this stream and ``others``, which have the same shape."""
    return stream.graph.add(Accum(function, rank), [stream, *others], name=name)[0]
