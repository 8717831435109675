"""Broadcast: several readers, of which some want no values."""

from __future__ import annotations

from contract.draft import Draft
from step.functions.select import SelectAll


def contract(draft: Draft) -> None:
    x = draft.stream()
    for _ in range(draft.number(2, 4)):
        draft.sink(x.map(SelectAll(2)) if draft.flag() else x)
