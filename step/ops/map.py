"""Map: a function of the elements of one or more streams of equal shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import sympy

from step.language.applying import _Applying, elements_of
from step.language.draft import Draft
from step.language.function import MapFunction
from step.language.operator import Accounting, Names, Placed, StreamType
from step.language.stream import Stream, stream_method
from step.language.types import ElementType, Selector
from step.language.useful import rows_of


@dataclass(frozen=True)
class Map(_Applying):
    """Applies ``function`` to each element; stops pass.

    >>> graph = Graph("map")
    >>> x = graph.source("x", Tile(BF16, 4, 4), [3])
    >>> x.map(Silu()).sink("y")
    """

    function: MapFunction = field()

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        elements, shape = self.operands(inputs)
        return (StreamType(self.function.result_type(*elements), shape),)

    def bounds(self, node: Placed) -> tuple[tuple[int, int], ...]:
        """Inputs that are indices, and what each of them has to be below."""
        return tuple((port, bound) for port, bound in self._checked(node) if not _selects(node, port))

    def counts(self, node: Placed) -> tuple[tuple[int, int], ...]:
        """Inputs that are selectors, and how many targets each of them has to have."""
        return tuple((port, bound) for port, bound in self._checked(node) if _selects(node, port))

    def _checked(self, node: Placed) -> list[tuple[int, int]]:
        types = elements_of(node.input_types)
        return [(port, self.function.bound(port, *types)) for port in self.function.indices]

    def rows_made(self, node: Placed, *elements: ElementType) -> sympy.Expr:
        return rows_of(self.function.result_type(*elements))

    def passes_on(self, inputs: int, output: int) -> Sequence[int]:
        return range(inputs) if self.function.reads_operands else ()

    def on_chip_bytes(self, node: Placed, accounting: Accounting) -> sympy.Expr:
        operands = self.function.operand_bytes(*elements_of(node.input_types))
        return operands if accounting == "paper" else sympy.Integer(0)


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
