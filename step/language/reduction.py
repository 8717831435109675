"""The common part of operators that reduce: a function with a state, and how many inner dimensions it runs over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sympy

from step.language.dims import Shape, per_tensor
from step.language.faults import Fault, Violation
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
from step.language.tokens import Token
from step.language.types import ElementType, Tile, is_dynamic


def rows_kept(node: Placed) -> int | None:
    """The input whose tiles have the dynamic rows of the state; None: there is none, or they are joined to its rows."""
    result = node.output_types[0].element
    elements = [each.element for each in node.input_types]
    if not isinstance(result, Tile) or not is_dynamic(result):
        return None
    kept = (port for port, each in enumerate(elements) if isinstance(each, Tile) and each.rows == result.rows)
    return next(kept, None)


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

    def check_rows(self, node: Placed, count: int, state: np.ndarray, tokens: Sequence[Token]) -> None:
        """Raise `Violation` where a ``state`` of ``count`` elements has other rows than the next one in ``tokens``."""
        port = rows_kept(node)
        if count and port is not None and len(tokens[port].value) != len(state):
            raise Violation(Fault.STOPS_DISAGREE)

    def on_chip_bytes(self, node: Placed, accounting: Accounting) -> sympy.Expr:
        operands = self.function.operand_bytes(*(each.element for each in node.input_types))
        state = node.output_types[0].element.bytes
        return operands + state if accounting == "paper" else state

    def flops(self, node: Placed) -> sympy.Expr:
        return node.input_types[0].count * self.function.flops(*(each.element for each in node.input_types))
