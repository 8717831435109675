"""Map: a function of the elements of one or more streams of equal shape."""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from step.faults import aligned
from step.function import MapFunction
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
    expect_same_shape,
)
from step.stream import Stream, stream_method
from step.tokens import Token


@dataclass(frozen=True)
class Map(Operator):
    """Applies ``function`` to each element; stops pass."""

    function: MapFunction

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        expect(len(inputs) >= 1, "map needs at least one stream")
        expect(isinstance(self.function, MapFunction), f"map needs a function of elements, not {self.function}")
        shape = expect_same_shape(inputs)
        return (StreamType(self.function.result_type(*(each.element for each in inputs)), shape),)

    def process(self, node: Node, around: Surroundings) -> Process:
        while True:
            tokens = yield from each_input(node)
            token = aligned(*tokens)
            if token.has_value:
                token = Token(self.function.apply(*(each.value for each in tokens)), token.stop)
            around.emit(0, token)
            if token.done:
                return

    def on_chip_bytes(self, node: Node, accounting: Accounting) -> sympy.Expr:
        return matmul_operands(self.function, node) if accounting == "paper" else sympy.Integer(0)

    def flops(self, node: Node) -> sympy.Expr:
        return node.output_types[0].count * self.function.flops(*(each.element for each in node.inputs))


@stream_method
def map(stream: Stream, function: MapFunction, *others: Stream, name: str | None = None) -> Stream:
    """Apply ``function`` to the elements of this stream and ``others``, which have the same shape."""
    return stream.graph.add(Map(function), [stream, *others], name=name)[0]
