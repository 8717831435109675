"""ItemOf: any item of a tuple, alone or beside others."""

from __future__ import annotations

from contract.draft import Draft
from step.language.types import Tuple


def contract(draft: Draft) -> None:
    items = tuple(draft.tile(most=3) for _ in range(draft.number(1, 3)))
    x = draft.stream(Tuple(items))
    draft.sink(*(x.item_of(draft.number(0, len(items) - 1)) for _ in range(draft.number(1, 2))))
