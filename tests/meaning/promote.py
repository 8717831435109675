"""Promote: a list around the stream, if there is anything in it."""

from __future__ import annotations

from meaning.given import Given
from meaning.nested import Nested
from step.ops.promote import Promote


def meaning(operator: Promote, given: Given, stream: Nested) -> list[Nested]:
    return [[stream] if stream else []]
