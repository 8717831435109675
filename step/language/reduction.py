"""The common part of operators that reduce: a function with a state, and how many inner dimensions it runs over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

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
from step.language.padding import UNKNOWN, Padding, has_padding
from step.language.tokens import Token
from step.language.types import ElementType, Tile, is_dynamic
from step.language.useful import PaddedApplication, rows_of, static_product, useful_flops


@dataclass(frozen=True)
class _Reduction(Operator):
    """Updates a state of ``function`` with every element of the inner ``rank`` dimensions."""

    function: AccumFunction = field()
    rank: int

    kind = Kind.HIGHER_ORDER
    reduces = True

    def state(self, inputs: tuple[StreamType, ...]) -> tuple[ElementType, Shape]:
        """Type of the state behind an element, and the common shape of ``inputs``.

        Raises `TypeMismatch` where they do not fit.
        """
        expect(len(inputs) >= 1, f"{self.name} needs at least one stream")
        shape = expect_same_shape(inputs)
        expect_rank(self.rank, 1, len(shape) - 1)
        return self.function.state_type(per_tensor(shape, self.rank), *(each.element for each in inputs)), shape

    def rows_kept(self, inputs: tuple[StreamType, ...]) -> int | None:
        """The input whose tiles have the dynamic rows of the state; None: there is none, or the state joins them."""
        state, _ = self.state(inputs)
        if not isinstance(state, Tile) or not is_dynamic(state):
            return None
        elements = [each.element for each in inputs]
        kept = (port for port, each in enumerate(elements) if isinstance(each, Tile) and each.rows == state.rows)
        return next(kept, None)

    @staticmethod
    def check_rows(kept: int | None, count: int, state: np.ndarray, tokens: Sequence[Token]) -> None:
        """Raise `Violation` where a ``state`` of ``count`` elements has other rows than the next one in ``tokens``.

        ``kept`` are `rows_kept`.
        """
        if count and kept is not None and len(tokens[kept].value) != len(state):
            raise Violation(Fault.STOPS_DISAGREE)

    def on_chip_bytes(self, node: Placed, accounting: Accounting) -> sympy.Expr:
        operands = self.function.operand_bytes(*(each.element for each in node.input_types))
        state = node.output_types[0].element.bytes
        return operands + state if accounting == "paper" else state

    def flops(self, node: Placed) -> sympy.Expr:
        return node.input_types[0].count * self.function.flops(*(each.element for each in node.input_types))

    def padding(self, node: Placed, inputs: Sequence[Padding]) -> tuple[Padding, ...]:
        if not any(map(has_padding, inputs)):
            return (None,)
        shape = node.input_types[0].shape
        applied, count = PaddedApplication.of(self.function, node, inputs), static_product(shape[-self.rank :])
        made = None if applied is None else applied.made_of_a_row(partial(self._made, shape))
        if applied is None or made is None or not count:
            return (UNKNOWN,)
        alike = max(applied.padded.alike - self.rank, 0)
        if made == count:  # rows below rows
            return (applied.padded.times(1, alike),)
        if made != 1 or applied.padded.alike < self.rank:  # a row of a state may be of rows that are data, and others
            return (UNKNOWN,)
        return (applied.padded.times(sympy.Rational(1, count), alike),)

    def _made(self, shape: Shape, *elements: ElementType) -> sympy.Expr:
        """Rows of a state."""
        return rows_of(self.function.state_type(per_tensor(shape, self.rank), *elements))

    def useful_flops(self, node: Placed, inputs: Sequence[Padding]) -> sympy.Expr | None:
        return useful_flops(self.function, node, inputs, partial(self._made, node.input_types[0].shape))
