"""Reshape: rows cut into pieces, the last of them filled up."""

from __future__ import annotations

from typing import Any

import numpy as np

from meaning.given import Given
from meaning.nested import Nested, inside
from step.language.types import Selector, is_dynamic
from step.ops.reshape import Reshape


def meaning(operator: Reshape, given: Given, stream: Nested) -> list[Nested]:
    (type_,) = given.input_types
    size = operator.chunk

    if operator.rank:
        outer = type_.rank - operator.rank

        def split(row: Nested) -> list[Nested]:
            return [row[start : start + size] for start in range(0, len(row), size)]

        flags = inside(type_.rank + 1, lambda _: np.array([[False]]), stream)
        return [inside(outer, split, stream), inside(outer, split, flags)]

    def cut(row: Nested, filler: Any) -> list[Nested]:
        pieces = [row[start : start + size] for start in range(0, len(row), size)]
        return [piece + [filler] * (size - len(piece)) for piece in pieces]

    def padding() -> Any:
        if isinstance(type_.element, Selector):
            return 0
        return np.full(type_.element.shape, operator.pad).astype(type_.element.dtype.numpy)

    filler = None if size == 1 or is_dynamic(type_.element) else padding()
    flags = inside(type_.rank + 1, lambda _: np.array([[False]]), stream)
    return [
        inside(type_.rank, lambda row: cut(row, filler), stream),
        inside(type_.rank, lambda row: cut(row, np.array([[True]])), flags),
    ]
