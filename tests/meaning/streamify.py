"""Streamify: the tensor in a buffer, or what strides take from it, in the place of every element of the reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from meaning.given import Given
from meaning.nested import Nested, entries, inside
from step.language.tokens import DONE, Token, to_nested
from step.language.types import Buffer
from step.ops.streamify import Streamify


def strided(tiles: Nested, out: Sequence[int], stride: Sequence[int], start: int = 0) -> Any:
    """What lies at ``start`` and in strides behind it."""
    if not out:
        return tiles[start]
    return [strided(tiles, out[1:], stride[1:], start + index * stride[0]) for index in range(out[0])]


def meaning(operator: Streamify, given: Given, buffers: Nested, *references: Nested) -> list[Nested]:
    data = given.input_types[0]
    assert isinstance(data.element, Buffer)
    rank = len(data.element.shape)

    def read(buffer: Sequence[Token]) -> Any:
        (tensor,) = to_nested([*buffer, DONE], rank)
        if operator.out is None or operator.stride is None:
            return tensor
        return strided(entries(rank, tensor), operator.out, operator.stride)

    def reads(buffer: Sequence[Token], *reference: Any) -> Any:
        if operator.count is not None:
            return [read(buffer)] * operator.count
        if not reference:
            return read(buffer)
        extra = given.input_types[1].rank - data.rank
        return inside(extra, lambda _: read(buffer), *reference)

    return [inside(data.rank + 1, reads, buffers, *references)]
