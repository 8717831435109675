"""Source: any stream, that somebody reads without its values too."""

from __future__ import annotations

from contract.draft import Draft
from step.functions.select import SelectAll


def contract(draft: Draft) -> None:
    x = draft.stream()
    draft.sink(x.map(SelectAll(1)) if draft.flag() else x)
