"""Generate: its values again and again, in the shape of the reference and of its own extents."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np

from meaning.given import Given
from meaning.nested import Nested, inside
from step.language.types import Tile
from step.ops.generate import Generate


def meaning(operator: Generate, given: Given, *references: Nested) -> list[Nested]:
    def element(value: Any) -> Any:
        if not isinstance(operator.element, Tile):
            return value
        rows = [[value]] if isinstance(operator.values, range) else value
        return np.array(rows, operator.element.dtype.numpy)

    values = cycle(operator.values)

    def block(extents: tuple[int, ...]) -> Any:
        return [block(extents[1:]) for _ in range(extents[0])] if extents else element(next(values))

    if references:
        (reference,) = references
        result = inside(given.input_types[0].rank + 1, lambda _: block(operator.extents), reference)
    else:
        result = block(operator.extents)
    return [[*map(element, operator.before), *result, *map(element, operator.behind)]]
