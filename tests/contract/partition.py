"""Partition: chunks of any rank to any targets."""

from __future__ import annotations

from contract.draft import Draft
from step.language.types import Selector


def contract(draft: Draft) -> None:
    x, targets = draft.stream(), draft.number(1, 4)
    outer = draft.number(1, x.rank + 1)
    selectors = draft.twin(x, Selector(targets), outer)
    draft.sink(*x.partition(selectors, targets=targets, rank=x.rank + 1 - outer))
