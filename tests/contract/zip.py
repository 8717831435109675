"""Zip: items of any types."""

from __future__ import annotations

from contract.draft import Draft
from step.language.types import Selector


def contract(draft: Draft) -> None:
    x = draft.stream(draft.tile(most=3))
    others = [draft.twin(x, draft.one_of(draft.tile(most=2), Selector(3))) for _ in range(draft.number(1, 2))]
    draft.sink(x.zip(*others))
