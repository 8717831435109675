"""Generate: constants, numbers and selectors, so many or along a reference."""

from __future__ import annotations

from contract.draft import Draft
from step.language.types import Selector


def contract(draft: Draft) -> None:
    graph, reference = draft.graph, draft.stream(most=2) if draft.flag() else None
    dims = [draft.number(1, 3) for _ in range(draft.number(1 if reference is None else 0, 2))]
    how = draft.one_of("constant", "count", "turns", "around")
    if how == "constant":
        draft.sink(graph.constant(draft.number(-3, 9), dims, reference=reference))
    elif how == "count":
        draft.sink(graph.count(dims, start=draft.number(0, 9), step=draft.number(1, 3), reference=reference))
    elif how == "turns":
        targets = draft.number(1, 4)
        order = [draft.number(0, targets - 1) for _ in range(draft.number(1, 3))]
        draft.sink(graph.turns(targets, order, dims, reference=reference))
    else:
        flat = None if reference is None else draft.stream(most=0)
        before, behind = ([draft.number(0, 3) for _ in range(draft.number(0, 2))] for _ in range(2))
        extents = [draft.number(1, 3)] if flat is None else []
        draft.sink(graph.generate(Selector(2), [1, 2, 3], extents, before=before, behind=behind, reference=flat))
