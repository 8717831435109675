"""Broadcast: the same for everyone."""

from __future__ import annotations

from meaning.given import Given
from meaning.nested import Nested
from step.ops.broadcast import Broadcast


def meaning(operator: Broadcast, given: Given, stream: Nested) -> list[Nested]:
    return [stream] * operator.copies
