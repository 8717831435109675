"""LinearOffChipStore: any stream of tiles."""

from __future__ import annotations

from contract.draft import Draft


def contract(draft: Draft) -> None:
    draft.stream(draft.tile()).store(draft.name("y"))
