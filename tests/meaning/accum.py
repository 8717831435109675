"""Accum: a fold over all elements of the inner dimensions."""

from __future__ import annotations

from functools import reduce
from typing import Any

from meaning.given import Given
from meaning.nested import Nested, entries, inside
from step.ops.accum import Accum


def meaning(operator: Accum, given: Given, *streams: Nested) -> list[Nested]:
    function = operator.function
    first = function.initial(given.output_types[0].element)

    def fold(*parts: Any) -> Any:
        together = inside(operator.rank, lambda *values: values, *parts)
        return reduce(lambda state, values: function.update(state, *values), entries(operator.rank, together), first)

    outer = given.input_types[0].rank + 1 - operator.rank
    return [inside(outer, fold, *streams)]
