"""A step that brings empties of every rank to every operator."""

from __future__ import annotations

from step.fuzz.draft import Growing
from step.fuzz.step import step
from step.language.dims import Dim
from step.samples.known import operators
from step.samples.values import random_element, random_nested

READERS = 6
"""Operators that may be placed on a stream, and on what comes of it."""


@step(20)
def give_empties(draft: Growing) -> None:
    """Operators of any kind on a stream of several dimensions, most of them ragged and without entries in many places.

    Some are static: operators have another rule where a dimension can not be empty.
    """
    dims: list[Dim | int] = [3]
    for _ in range(draft.random.choice([1, 2, 2, 3, 3, 4])):
        ragged = draft.chance(0.7)
        dims.append(draft.graph.symbol(draft.name("R"), ragged=True) if ragged else draft.random.choice([1, 1, 2]))
    element = random_element(draft.random)
    nested = random_nested(draft.random, [each if isinstance(each, int) else None for each in dims], element)
    others, draft.pool = draft.pool, [draft.play("hollow", element, nested, dims)]
    known = operators()
    for each in draft.random.choices(known, [one.weight for one in known], k=READERS):
        each.sample(draft)
    draft.pool = others + draft.pool
