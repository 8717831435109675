"""Until: the chunks up to the first one whose selector selects nothing, with that one."""

from __future__ import annotations

from itertools import zip_longest

from meaning.given import Given
from meaning.nested import Nested
from step.ops.until import Until


def meaning(operator: Until, given: Given, data: Nested, selectors: Nested) -> list[Nested]:
    kept = []
    for chunk, mask in zip_longest(data, selectors[: len(data)]):
        kept.append(chunk)
        if not mask:
            assert mask is not None, "selectors end before"
            break
    return [kept]
