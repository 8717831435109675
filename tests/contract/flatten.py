"""Flatten: any dimensions next to each other."""

from __future__ import annotations

from contract.draft import Draft


def contract(draft: Draft) -> None:
    x = draft.stream(least=1)
    low = draft.number(0, x.rank - 1)
    draft.sink(x.flatten(low, draft.number(low + 1, x.rank)))
