"""Bufferize: any inner dimensions of which the outermost one alone may be ragged, read once."""

from __future__ import annotations

from contract.draft import Draft
from step.language.stream import Stream


def stored(draft: Draft) -> tuple[Stream, int]:
    """A stream of tiles, and how many of its inner dimensions a buffer can have."""
    x = draft.stream(draft.tile(most=3), least=1, most=3)
    most = next((rank for rank in range(1, x.rank + 1) if x.shape[-rank].is_ragged), x.rank)
    return x, draft.number(1, most)


def contract(draft: Draft) -> None:
    x, rank = stored(draft)
    draft.sink(x.bufferize(rank=rank).streamify())
