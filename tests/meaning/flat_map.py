"""FlatMap: the streams of a row's elements, one behind the other."""

from __future__ import annotations

from meaning.given import Given
from meaning.nested import Nested, inside
from step.language.tokens import to_nested
from step.ops.flat_map import FlatMap


def meaning(operator: FlatMap, given: Given, *streams: Nested) -> list[Nested]:
    function = operator.function

    def join(*rows: Nested) -> Nested:
        # A function says its stream in tokens; this is all that is known of them here.
        return [
            entry
            for elements in zip(*rows, strict=True)
            for entry in to_nested(function.expand(*elements), function.rank)
        ]

    return [inside(given.input_types[0].rank, join, *streams)]
