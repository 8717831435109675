"""EagerMerge: chunks of several inputs, as they come."""

from __future__ import annotations

from contract.draft import Draft


def contract(draft: Draft) -> None:
    first = draft.stream(most=3)
    others = [draft.twin(first, first.element) for _ in range(draft.number(0, 2))]
    draft.sink(*draft.graph.eager_merge([first, *others], rank=first.rank))
