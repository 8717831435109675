"""The common part of operators that apply a function to the elements of streams of one shape."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from functools import partial

import sympy

from step.language.dims import Shape
from step.language.function import Function
from step.language.operator import Operator, Placed, StreamType, expect, expect_same_shape
from step.language.padding import FLAGS, UNKNOWN, Padding, has_padding
from step.language.types import ElementType
from step.language.useful import PaddedApplication


def elements_of(streams: Sequence[StreamType]) -> tuple[ElementType, ...]:
    """The elements of ``streams``."""
    return tuple(each.element for each in streams)


class _Applying(Operator):
    """Applies ``function`` to elements that stand side by side."""

    function: Function

    def operands(self, inputs: tuple[StreamType, ...]) -> tuple[tuple[ElementType, ...], Shape]:
        """Elements of ``inputs``, and their common shape; raises `TypeMismatch` where they have none."""
        expect(len(inputs) >= 1, f"{self.name} needs at least one stream")
        return elements_of(inputs), expect_same_shape(inputs)

    @abc.abstractmethod
    def rows_made(self, node: Placed, *elements: ElementType) -> sympy.Expr:
        """Rows of all that the operator at ``node`` makes of such elements."""

    def padded(self, node: Placed, applied: PaddedApplication, made: sympy.Expr) -> Padding:
        """Padding of the output, whose rows are so many for each of what is ``applied``."""
        return applied.padded.times(made, applied.padded.alike)

    def padding(self, node: Placed, inputs: Sequence[Padding]) -> tuple[Padding, ...]:
        if not any(map(has_padding, inputs)):
            selects = self.function.keeps_data and inputs[0] is not None and inputs[0].flags
            return (FLAGS if selects else None,)
        applied = PaddedApplication.of(self.function, node, inputs)
        made = None if applied is None else applied.made_of_a_row(partial(self.rows_made, node))
        return (UNKNOWN if applied is None or made is None else self.padded(node, applied, made),)

    def useful_flops(self, node: Placed, inputs: Sequence[Padding]) -> sympy.Expr | None:
        applied = PaddedApplication.of(self.function, node, inputs)
        return None if applied is None else applied.flops(node.input_types[0].count, partial(self.rows_made, node))

    def flops(self, node: Placed) -> sympy.Expr:
        return node.input_types[0].count * self.function.flops(*elements_of(node.input_types))
