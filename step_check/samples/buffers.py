"""Samples of buffers in on-chip memory."""

from __future__ import annotations

from step.language.stream import Stream
from step.language.types import Tile
from step_check.samples.draft import HIGHEST_RANK, Draft, Piece


def stored(draft: Draft) -> Piece | None:
    """Tiles that go into buffers."""
    return draft.pick(lambda each: isinstance(each.element, Tile) and 0 < each.rank < HIGHEST_RANK - 1, factor=4)


def fill(draft: Draft, piece: Piece) -> tuple[Stream, int]:
    """Buffers of ``piece``, and of which rank they are."""
    rank = draft.random.randint(1, piece.rank)
    if any(each.is_ragged for each in piece.stream.shape[-rank:][1:]):
        rank = 1
    buffers: Stream = draft.read(piece).bufferize(rank=rank)
    return buffers, rank
