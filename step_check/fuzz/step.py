"""Functions by which a program grows, each by an operator or a few, or not at all where nothing fits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from step_check.samples.draft import GrowingDraft
from step_check.samples.known import operators

Step = Callable[[GrowingDraft], None]
STEPS: list[Step] = []
"""Steps of several operators; the more weight one has, the more often it is here."""


def step(weight: int) -> Callable[[Step], Step]:
    """Take the step ``weight`` times as often as others."""

    def register(function: Step) -> Step:
        STEPS.extend([function] * weight)
        return function

    return register


@cache
def steps() -> tuple[Step, ...]:
    """All steps: `STEPS`, and the samples of all operators, those of other packages too."""
    found = list(STEPS)
    for each in operators():
        found += [each.sample] * each.weight
    return tuple(found)
