"""Scan: folds over the inner dimensions, of which every step is seen."""

from __future__ import annotations

from typing import Any

from meaning.given import Given
from meaning.nested import Nested, inside
from step.ops.scan import Scan


def meaning(operator: Scan, given: Given, *streams: Nested) -> list[Nested]:
    function = operator.function

    def fold(*parts: Any) -> Any:
        states = [function.initial(given.output_types[0].element)]

        def step(*values: Any) -> Any:
            states.append(function.update(states[-1], *values))
            return states[-2 if operator.exclusive else -1]

        return inside(operator.rank, step, *parts)

    outer = given.input_types[0].rank + 1 - operator.rank
    return [inside(outer, fold, *streams)]
