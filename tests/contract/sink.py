"""Sink: any stream leaves as it came."""

from __future__ import annotations

from contract.draft import Draft


def contract(draft: Draft) -> None:
    draft.sink(draft.stream())
