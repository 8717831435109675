"""Partition: every target gets a list of the chunks whose selectors name it."""

from __future__ import annotations

from meaning.given import Given
from meaning.nested import Nested, entries, inside
from step.ops.partition import Partition


def meaning(operator: Partition, given: Given, data: Nested, selectors: Nested) -> list[Nested]:
    outer = given.input_types[1].rank + 1
    routed = entries(outer, inside(outer, lambda chunk, mask: (chunk, mask), data, selectors))
    return [[chunk for chunk, mask in routed if mask >> target & 1] for target in range(operator.targets)]
