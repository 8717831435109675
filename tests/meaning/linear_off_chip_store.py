"""LinearOffChipStore: what comes, leaves."""

from __future__ import annotations

from meaning.given import Given
from meaning.nested import Nested
from step.ops.linear_off_chip_store import LinearOffChipStore


def meaning(operator: LinearOffChipStore, given: Given, stream: Nested) -> list[Nested]:
    return [stream]
