"""Map: a function in place of every element."""

from __future__ import annotations

from meaning.given import Given
from meaning.nested import Nested, inside
from step.ops.map import Map


def meaning(operator: Map, given: Given, *streams: Nested) -> list[Nested]:
    return [inside(given.input_types[0].rank + 1, operator.function.apply, *streams)]
