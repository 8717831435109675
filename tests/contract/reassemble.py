"""Reassemble: chunks of several inputs, in either order, for selectors of any rank."""

from __future__ import annotations

from random import Random

from contract.draft import Draft
from step.language.types import Selector
from step_check.samples.values import grouped

LONGEST = 12
"""Selectors, of which any may be empty; further ones take all that is left."""


def contract(draft: Draft) -> None:
    first = draft.stream(most=2)
    others = [draft.play(first.element, draft.nested(first), first.shape) for _ in range(draft.number(0, 2))]
    inputs = [first, *others]
    left = [len(draft.nested(each)) for each in inputs]
    masks: list[int] = []
    while any(left):
        waiting = [port for port, count in enumerate(left) if count]
        chosen = [port for port in waiting if draft.flag()] if len(masks) < LONGEST else waiting
        masks.append(sum(1 << port for port in chosen))
        for port in chosen:
            left[port] -= 1
    rank = draft.number(0, 2)
    dims = [draft.graph.symbol(draft.name("S"))]
    dims += [draft.graph.symbol(draft.name("R"), ragged=True) for _ in range(rank)]
    selectors = draft.play(Selector(len(inputs)), grouped(Random(draft.number(0, 999)), masks, rank), dims)
    order = draft.one_of("index", "arrival")
    draft.sink(draft.graph.reassemble(inputs, selectors, rank=first.rank, order=order))
