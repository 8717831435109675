"""Expand: the reference's shape, filled with the elements held; or n copies of each."""

from __future__ import annotations

from typing import Any

from meaning.given import Given
from meaning.nested import Nested, entries, inside
from step.ops.expand import Expand


def meaning(operator: Expand, given: Given, data: Nested, *references: Nested) -> list[Nested]:
    outer = given.input_types[0].rank + 1 - operator.rank

    def only(held: Any) -> Any:
        """The element of dimensions that are all 1."""
        (element,) = entries(operator.rank, held)
        return element

    if operator.count is not None:
        return [inside(outer, lambda held: [only(held)] * operator.count, data)]

    def fill(held: Any, reference: Any) -> Any:
        element = only(held)
        return inside(operator.rank, lambda _: element, reference)

    return [inside(outer, fill, data, *references)]
