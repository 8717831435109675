"""Steps that route chunks and gather them again."""

from __future__ import annotations

from step.functions.cast import Cast
from step.language.draft import HIGHEST_RANK
from step.language.types import Tile
from step_check.fuzz.step import step
from step_check.samples.draft import GrowingDraft


@step(4)
def route_and_gather(draft: GrowingDraft) -> None:
    """Chunks through several targets and together again, in the order of the selectors that sent them."""
    if piece := draft.pick(lambda each: each.rank < HIGHEST_RANK, factor=3):
        parts, which, rank = draft.route(piece)
        streams = [draft.read(each) for each in parts]
        if isinstance(piece.element, Tile) and piece.is_float:
            for port in range(len(streams)):
                for _ in range(draft.random.randint(0, 2)):
                    streams[port] = streams[port].map(Cast(piece.element.dtype))
        draft.gather(streams, which, rank, timed=piece.timed)
