"""Flatten: what lies in the merged dimensions, as one list."""

from __future__ import annotations

from typing import Any

from meaning.given import Given
from meaning.nested import Nested, entries, inside
from step.ops.flatten import Flatten


def meaning(operator: Flatten, given: Given, stream: Nested) -> list[Nested]:
    merged = operator.high - operator.low + 1

    def join(part: Any) -> Nested:
        return entries(merged, part)

    return [inside(given.input_types[0].rank - operator.high, join, stream)]
