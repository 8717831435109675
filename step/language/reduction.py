"""The common part of operators that reduce: a function with a state, and how many inner dimensions it runs over."""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from step.language.dims import Shape, per_tensor
from step.language.function import AccumFunction
from step.language.operator import (
    Accounting,
    Kind,
    Operator,
    Placed,
    StreamType,
    expect,
    expect_rank,
    expect_same_shape,
)
from step.language.types import ElementType


@dataclass(frozen=True)
class _Reduction(Operator):
    """Updates a state of ``function`` with every element of the inner ``rank`` dimensions."""

    function: AccumFunction
    rank: int

    kind = Kind.HIGHER_ORDER

    def state(self, inputs: tuple[StreamType, ...]) -> tuple[ElementType, Shape]:
        """Type of the state, and the common shape of ``inputs``; raises `TypeMismatch` where they do not fit."""
        expect(len(inputs) >= 1, f"{self.name} needs at least one stream")
        shape = expect_same_shape(inputs)
        expect_rank(self.rank, 1, len(shape) - 1)
        return self.function.state_type(per_tensor(shape, self.rank), *(each.element for each in inputs)), shape

    def on_chip_bytes(self, node: Placed, accounting: Accounting) -> sympy.Expr:
        operands = self.function.operand_bytes(*(each.element for each in node.input_types))
        state = node.output_types[0].element.bytes
        return operands + state if accounting == "paper" else state

    def flops(self, node: Placed) -> sympy.Expr:
        return node.input_types[0].count * self.function.flops(*(each.element for each in node.input_types))
