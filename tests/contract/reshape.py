"""Reshape: chunks with padding, and outer dimensions without."""

from __future__ import annotations

from contract.draft import Draft
from step.language.types import Tile, Tuple


def contract(draft: Draft) -> None:
    x = draft.stream()
    outer = [rank for rank in range(1, x.rank + 1) if x.shape[-1 - rank].is_static]
    if outer and draft.flag():
        rank = draft.one_of(*outer)
        extent = int(x.shape[-1 - rank])
        chunk = draft.one_of(*(each for each in range(1, extent + 2) if extent % each == 0))
        draft.sink(*x.reshape(chunk, rank=rank))
        return
    chunk = 1 if isinstance(x.element, Tuple) else draft.number(1, 4)
    data, padding = x.reshape(chunk, pad=draft.number(0, 1) if isinstance(x.element, Tile) else 0)
    draft.sink(*draft.one_of([data], [padding], [data, padding]))
