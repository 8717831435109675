"""Map: a function of the elements of one or more streams of equal shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import sympy

from step.language.draft import Draft
from step.language.faults import Fault, Violation
from step.language.function import MapFunction
from step.language.operator import (
    Accounting,
    Kind,
    Names,
    Operator,
    Placed,
    Process,
    StreamType,
    Surroundings,
    each_aligned,
    expect,
    expect_same_shape,
)
from step.language.padding import FLAGS, UNKNOWN, Padding, has_padding
from step.language.stream import Stream, stream_method
from step.language.tokens import Token
from step.language.types import ElementType, Selector
from step.language.useful import PaddedApplication, rows_of, useful_flops


@dataclass(frozen=True)
class Map(Operator):
    """Applies ``function`` to each element; stops pass.

    >>> graph = Graph("map")
    >>> x = graph.source("x", Tile(BF16, 4, 4), [3])
    >>> x.map(Silu()).sink("y")
    """

    function: MapFunction = field()

    kind = Kind.HIGHER_ORDER

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        expect(len(inputs) >= 1, "map needs at least one stream")
        shape = expect_same_shape(inputs)
        return (StreamType(self.function.result_type(*(each.element for each in inputs)), shape),)

    def bounds(self, node: Placed) -> tuple[tuple[int, int], ...]:
        """Inputs that are indices, and what each of them has to be below."""
        return tuple((port, bound) for port, bound in self._checked(node) if not _selects(node, port))

    def counts(self, node: Placed) -> tuple[tuple[int, int], ...]:
        """Inputs that are selectors, and how many targets each of them has to have."""
        return tuple((port, bound) for port, bound in self._checked(node) if _selects(node, port))

    def _checked(self, node: Placed) -> list[tuple[int, int]]:
        types = [each.element for each in node.input_types]
        return [(port, self.function.bound(port, *types)) for port in self.function.indices]

    def padding(self, node: Placed, inputs: Sequence[Padding]) -> tuple[Padding, ...]:
        if not any(has_padding(each) for each in inputs):
            selects = self.function.keeps_data and inputs[0] is not None and inputs[0].flags
            return (FLAGS if selects else None,)
        applied = PaddedApplication.of(self.function, node, inputs)
        made = None if applied is None else applied.made_of_a_row(self._made)
        return (UNKNOWN if applied is None or made is None else applied.padded.times(made, applied.padded.alike),)

    def _made(self, *elements: ElementType) -> sympy.Expr:
        """Rows of a result."""
        return rows_of(self.function.result_type(*elements))

    def useful_flops(self, node: Placed, inputs: Sequence[Padding]) -> sympy.Expr | None:
        return useful_flops(self.function, node, inputs, self._made)

    def process(self, node: Placed, around: Surroundings) -> Process:
        bounds, counts, result = self.bounds(node), self.counts(node), node.output_types[0].element
        while True:
            token, tokens = yield from each_aligned(node)
            if token.has_value:
                for port, bound in bounds:
                    if tokens[port].value[0, 0] >= bound:
                        raise Violation(Fault.OUT_OF_RANGE)
                for port, count in counts:
                    if tokens[port].value.bit_count() != count:
                        raise Violation(Fault.OUT_OF_RANGE)
                values = [each.value for each in tokens]
                token = Token(around.computed(self.function.apply, *values, result=result), token.stop)
            around.emit(0, token)
            if token.done:
                return

    def passes_on(self, inputs: int, output: int) -> Sequence[int]:
        return range(inputs) if self.function.reads_operands else ()

    def on_chip_bytes(self, node: Placed, accounting: Accounting) -> sympy.Expr:
        operands = self.function.operand_bytes(*(each.element for each in node.input_types))
        return operands if accounting == "paper" else sympy.Integer(0)

    def flops(self, node: Placed) -> sympy.Expr:
        return node.output_types[0].count * self.function.flops(*(each.element for each in node.input_types))


def _selects(node: Placed, port: int) -> bool:
    return isinstance(node.input_types[port].element, Selector)


@stream_method
def map(stream: Stream, function: MapFunction, *others: Stream, name: str | None = None) -> Stream:
    """Apply ``function`` to the elements of this stream and ``others``, which have the same shape."""
    return stream.graph.add(Map(function), [stream, *others], name=name)[0]


WEIGHT = 20


def sample(draft: Draft) -> None:
    """Any function."""
    if (piece := draft.pick()) and (found := draft.applied(piece, MapFunction)):
        function, (first, *others) = found
        draft.keep(first.map(function, *others), timed=piece.timed)
