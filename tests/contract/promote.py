"""Promote."""

from __future__ import annotations

from contract.draft import Draft


def contract(draft: Draft) -> None:
    draft.sink(draft.stream().promote())
