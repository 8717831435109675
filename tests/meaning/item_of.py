"""ItemOf: one item of every tuple."""

from __future__ import annotations

from meaning.given import Given
from meaning.nested import Nested, inside
from step.ops.item_of import ItemOf


def meaning(operator: ItemOf, given: Given, stream: Nested) -> list[Nested]:
    return [inside(given.input_types[0].rank + 1, lambda each: each[operator.index], stream)]
