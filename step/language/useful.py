"""Padding behind functions and operators, and their operations that are not on padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import sympy

from step.errors import TypeMismatch
from step.language.dims import Shape, product
from step.language.function import Function
from step.language.operator import Placed
from step.language.padding import UNKNOWN, Padded, Padding, has_padding
from step.language.types import ElementType, Tile


def merged(node: Placed, inputs: Sequence[Padding], ports: Sequence[int]) -> Padding:
    """Padding of a stream that has all elements of the inputs at ``ports``."""
    there = [inputs[port] for port in ports]
    if not any(map(has_padding, there)):
        return None
    rows, alike = sympy.Integer(0), len(node.output_types[0].shape)
    for port, each in zip(ports, there, strict=True):
        if each is None:
            rows += node.input_types[port].count * rows_of(node.input_types[port].element)
        elif each.rows is None:
            return UNKNOWN
        else:
            rows, alike = rows + each.rows, min(alike, each.alike)
    return Padded(rows, alike)


def rows_of(element: ElementType) -> sympy.Expr:
    """Rows of a tile; 0 of what is none."""
    return element.rows.extent if isinstance(element, Tile) else sympy.Integer(0)


def static_product(shape: Shape) -> int | None:
    """Number of elements; None where a run tells."""
    return int(product(shape)) if all(each.is_static for each in shape) else None


@dataclass(frozen=True)
class PaddedApplication:
    """A ``function`` of ``elements``, of which the tiles at ``ports`` are ``padded``, all of them alike.

    How its results and its operations grow with their rows its own rules for types say.
    """

    function: Function
    elements: tuple[ElementType, ...]
    ports: tuple[int, ...]
    padded: Padded

    @classmethod
    def of(cls, function: Function, node: Placed, inputs: Sequence[Padding]) -> PaddedApplication | None:
        """None where the padding is not known or differs, and where its tiles have a dynamic number of rows."""
        elements = tuple(each.element for each in node.input_types)
        ports = tuple(port for port, each in enumerate(inputs) if has_padding(each))
        there = [each for port in ports if (each := inputs[port]) is not None]
        heights = {rows_of(elements[port]) for port in ports}
        if len({each.rows for each in there}) > 1 or len(heights) > 1 or there[0].rows is None:
            return None
        if not all(height.is_Integer and height > 0 for height in heights):
            return None
        return cls(function, elements, ports, Padded(there[0].rows, min(each.alike for each in there)))

    @property
    def height(self) -> sympy.Expr:
        """Rows of a padded tile."""
        return rows_of(self.elements[self.ports[0]])

    def higher(self, times: int) -> tuple[ElementType, ...]:
        """The elements, with so many times the rows in those that are padded."""
        return tuple(
            Tile(each.dtype, int(each.rows) * times, each.cols) if at in self.ports and isinstance(each, Tile) else each
            for at, each in enumerate(self.elements)
        )

    def made_of_a_row(self, made: Callable[..., sympy.Expr]) -> sympy.Expr | None:
        """Rows of results, by what is ``made`` of elements, that come of one row; None where not each has its own."""
        try:
            one, two = made(*self.elements), made(*self.higher(2))
        except TypeMismatch:
            return None
        return one / self.height if one != 0 and two == 2 * one else None

    def flops(self, applications: sympy.Expr, made: Callable[..., sympy.Expr]) -> sympy.Expr | None:
        """Operations of so many ``applications`` that are not on rows of padding; None where they are not known."""
        try:
            for times in (2, 3):
                made(*self.higher(times))
        except TypeMismatch:
            return None
        one, two, three = (self.function.flops(*self.higher(times)) for times in (1, 2, 3))
        if three - two != two - one or self.padded.rows is None:
            return None
        of_a_row = (two - one) / self.height
        return self.padded.rows * of_a_row + applications * (one - self.height * of_a_row)
