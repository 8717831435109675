"""Source: what the inputs say."""

from __future__ import annotations

from meaning.given import Given
from meaning.nested import Nested
from step.ops.source import Source


def meaning(operator: Source, given: Given) -> list[Nested]:
    assert given.stream is not None
    return [given.stream]
