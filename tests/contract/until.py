"""Until: chunks of any rank, with as many selectors as there are, or more, or fewer where one ends the stream."""

from __future__ import annotations

from contract.draft import Draft
from step.language.types import Selector


def contract(draft: Draft) -> None:
    x = draft.stream()
    masks = [draft.number(0, 1) for _ in draft.nested(x)]
    others = draft.one_of("as many", "more", "fewer")
    if others == "more":
        masks += [draft.number(0, 1) for _ in range(draft.number(0, 3))]
    if others == "fewer" and 0 in masks:
        del masks[masks.index(0) + 1 + draft.number(0, 2) :]
    draft.sink(x.until(draft.play(Selector(1), masks, [draft.graph.symbol(draft.name("S"))])))
