"""Steps that bring empties of every rank to every operator."""

from __future__ import annotations

from step.functions.retile import RetileStreamify
from step.language.dims import Dim
from step.language.draft import inside
from step.language.types import Tile, with_rows
from step_check.fuzz.step import step
from step_check.samples.draft import GrowingDraft
from step_check.samples.known import operators
from step_check.samples.values import random_element, random_nested, random_tile, random_value

READERS = 6
"""Operators that may be placed on a stream, and on what comes of it."""


@step(20)
def give_empties(draft: GrowingDraft) -> None:
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


@step(6)
def take_apart(draft: GrowingDraft) -> None:
    """Tiles without rows become no piece, so that pieces end late and whole rows become empties."""
    random = draft.random
    counts = [[random.choice([0, 0, 1, 2]) for _ in range(random.choice([0, 1, 2, 3]))] for _ in range(3)]
    draft.most_rows = max(draft.most_rows, 2)
    tile = Tile(random_tile(random).dtype, draft.graph.symbol(draft.name("H"), ragged=True), random.randint(1, 3))
    nested = inside(2, lambda rows: random_value(random, with_rows(tile, rows)), counts)
    piece = draft.play("hollow", tile, nested, [3, draft.graph.symbol(draft.name("R"), ragged=True)])
    draft.keep(draft.read(piece).flat_map(RetileStreamify(1, "row", random.choice([0, 1]))))
