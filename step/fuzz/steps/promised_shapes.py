"""Steps that promise shapes, and one of tiles of dynamic size."""

from __future__ import annotations

from step.functions.retile import RetileRow, RetileStreamify
from step.fuzz.draft import Growing
from step.fuzz.step import step
from step.language.dims import Dim, dim
from step.samples.values import seen


@step(2)
def assume(draft: Growing) -> None:
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


@step(6)
def retile(draft: Growing) -> None:
    """Tiles joined to one of dynamic size, and parted again: where there were none, an element becomes nothing."""
    if draft.dynamic and (piece := draft.pick(lambda each: each.rank > 0 and each.is_tile)):
        rank = draft.random.randint(1, min(2, piece.rank))
        reduced = piece.stream.shape[-rank:]
        if any(not each.is_static for each in reduced) and dim(0) not in reduced:
            joined = draft.read(piece).accum(RetileRow(), rank=rank)
            draft.keep(joined.flat_map(RetileStreamify(1, "row", draft.random.choice([0, 1]))), timed=piece.timed)
