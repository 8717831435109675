"""The common part of operators that reduce: a function with a state, and how many inner dimensions it runs over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import sympy

from step.language.applying import _Applying, elements_of
from step.language.dims import Shape, per_tensor
from step.language.faults import Fault, Violation
from step.language.function import AccumFunction
from step.language.operator import Accounting, Placed, StreamType, expect_rank
from step.language.padding import UNKNOWN, Padding
from step.language.types import ElementType, Tile, is_dynamic
from step.language.useful import PaddedApplication, rows_of, static_product


@dataclass(frozen=True)
class Distinct:
    """Adds the index that a tile holds to the mask of those ``seen``, all below ``bound`` and different."""

    bound: int

    def __call__(self, seen: int, index: np.ndarray) -> int:
        place = int(index.item())
        if place >= self.bound or seen >> place & 1:
            raise Violation(Fault.OUT_OF_RANGE)
        return seen | 1 << place


@dataclass(frozen=True)
class _Reduction(_Applying):
    """Updates a state of ``function`` with every element of the inner ``rank`` dimensions."""

    function: AccumFunction = field()
    rank: int

    reduces = True

    def state(self, inputs: tuple[StreamType, ...]) -> tuple[ElementType, Shape]:
        """Type of the state behind an element, and the common shape of ``inputs``.

        Raises `TypeMismatch` where they do not fit.
        """
        elements, shape = self.operands(inputs)
        expect_rank(self.rank, 1, len(shape) - 1)
        return self._state(shape, elements), shape

    def _state(self, shape: Shape, elements: Sequence[ElementType]) -> ElementType:
        return self.function.state_type(per_tensor(shape, self.rank), *elements)

    def rows_kept(self, inputs: tuple[StreamType, ...]) -> int | None:
        """The input whose tiles have the dynamic rows of the state; None: there is none, or the state joins them."""
        elements = elements_of(inputs)
        state = self._state(inputs[0].shape, elements)
        if not isinstance(state, Tile) or not is_dynamic(state):
            return None
        kept = (port for port, each in enumerate(elements) if isinstance(each, Tile) and each.rows == state.rows)
        return next(kept, None)

    def on_chip_bytes(self, node: Placed, accounting: Accounting) -> sympy.Expr:
        operands = self.function.operand_bytes(*elements_of(node.input_types))
        state = node.output_types[0].element.bytes
        return operands + state if accounting == "paper" else state

    def padded(self, node: Placed, applied: PaddedApplication, made: sympy.Expr) -> Padding:
        count = static_product(node.input_types[0].shape[-self.rank :])
        alike = max(applied.padded.alike - self.rank, 0)
        if count and made == count:  # rows below rows
            return applied.padded.times(1, alike)
        if not count or made != 1 or applied.padded.alike < self.rank:
            return UNKNOWN  # a row of a state may be of rows that are data, and others
        return applied.padded.times(sympy.Rational(1, count), alike)

    def rows_made(self, node: Placed, *elements: ElementType) -> sympy.Expr:
        return rows_of(self._state(node.input_types[0].shape, elements))
