"""Samples of chunks that are routed, and gathered again."""

from __future__ import annotations

from typing import Literal

from step.language.stream import Stream
from step.language.types import Selector
from step_check.samples.draft import Draft, Piece
from step_check.samples.nested import inside
from step_check.samples.values import alike

Order = Literal["index", "arrival"]


def same_chunks(first: Piece, other: Piece) -> bool:
    """Whether chunks of both can go into one stream."""
    return (
        other.element == first.element
        and other.rank == first.rank
        and all(
            one == two or one.is_ragged or two.is_ragged
            for one, two in zip(first.stream.shape[1:], other.stream.shape[1:], strict=True)
        )
    )


def route(draft: Draft, piece: Piece) -> tuple[list[Piece], Piece, int]:
    """The parts of ``piece``, the selectors, and the rank of the chunks."""
    which = _selecting(draft, piece)
    assert isinstance(which.element, Selector)
    rank = piece.rank - which.rank
    parts = draft.read(piece).partition(draft.read(which), targets=which.element.targets, rank=rank)
    return draft.keep(*parts, timed=piece.timed), which, rank


def _selecting(draft: Draft, piece: Piece) -> Piece:
    """Selectors for the chunks of ``piece``, of any rank: from the pool, or a source; by turns where it is timed."""
    if piece.timed:
        targets = draft.random.randint(1, 3)
        all_of_them = draft.graph.turns(targets, [range(targets)], reference=draft.read(piece))
        return draft.keep(all_of_them, timed=True)[0]
    found = [
        each
        for each in draft.pool
        if isinstance(each.element, Selector)
        and not each.timed
        and each.stream.shape == piece.stream.shape[: each.rank + 1]
        and alike(each.nested, piece.nested, each.rank + 1)
    ]
    if found and draft.chance(0.4):
        return draft.random.choice(found)
    targets, outer = draft.random.choice([2, 2, 1, 3, 3, 5]), draft.random.randint(1, piece.rank + 1)
    masks = inside(outer, lambda _: draft.random.randrange(1 << targets), piece.nested)
    return draft.selectors(targets, masks, piece.stream.shape[:outer])


def gather(draft: Draft, streams: list[Stream], which: Piece, rank: int, *, timed: bool) -> None:
    """Chunks of ``streams`` together again, in the order of the ports or of arrival."""
    order: Order = draft.random.choice(["index", "arrival"])
    again = draft.graph.reassemble(streams, draft.read(which), rank=rank, order=order)
    draft.keep(again, timed=timed or order == "arrival")
