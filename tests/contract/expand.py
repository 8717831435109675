"""Expand: by a number, or along a reference."""

from __future__ import annotations

from typing import Any

from meaning.nested import inside

from contract.draft import Draft


def contract(draft: Draft) -> None:
    if draft.flag():
        draft.sink(draft.stream().repeat(draft.number(1, 4)))
        return
    reference = draft.stream(least=1)
    rank, element = draft.number(1, reference.rank), draft.element()

    def ones(levels: int) -> Any:
        return [ones(levels - 1)] if levels else draft.value(element)

    outer = reference.rank + 1 - rank
    nested = inside(outer, lambda _: ones(rank), draft.nested(reference))
    data = draft.play(element, nested, [*reference.shape[:outer], *[1] * rank])
    draft.sink(data.expand(reference, rank=rank))
