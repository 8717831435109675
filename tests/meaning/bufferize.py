"""Bufferize: every tensor of the inner dimensions is one element, the tokens that it would be as a stream."""

from __future__ import annotations

from meaning.given import Given
from meaning.nested import Nested, inside
from step.language.tokens import from_nested
from step.ops.bufferize import Bufferize


def meaning(operator: Bufferize, given: Given, stream: Nested) -> list[Nested]:
    outer = given.output_types[0].rank + 1
    return [inside(outer, lambda tensor: tuple(from_nested([tensor], operator.rank)[:-1]), stream)]
