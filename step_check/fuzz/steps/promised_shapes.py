"""A step that promises shapes."""

from __future__ import annotations

from step.language.dims import Dim
from step_check.fuzz.step import step
from step_check.samples.draft import GrowingDraft
from step_check.samples.values import seen


@step(2)
def assume(draft: GrowingDraft) -> None:
    """Promise what is so: extents that are always the same."""

    def promise(known: Dim, extents: set[int]) -> Dim | int:
        if known.is_static or len(extents) != 1 or draft.chance(0.3):
            return known
        (extent,) = extents
        choices: list[Dim | int] = [extent, *(each for each, is_so in draft.regular if is_so == extent)]
        return draft.random.choice(choices)

    if piece := draft.pick(lambda each: not each.timed and each.stream.key not in draft.read_keys):
        extents = [seen(piece.nested, level) for level in range(piece.rank + 1)]
        draft.pool.remove(piece)
        draft.keep(piece.stream.assume_shape(map(promise, piece.stream.shape, extents)))
