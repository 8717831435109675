"""Steps in which a stream waits for another one that is made of the same: reductions, and memory that is written."""

from __future__ import annotations

from step.functions.elementwise import Add
from step.language.draft import HIGHEST_RANK, Draft, Piece, entries
from step.language.stream import Stream
from step.language.types import Tile
from step_check.fuzz.step import step
from step_check.samples.draft import GrowingDraft


@step(2)
def expand_sums(draft: GrowingDraft) -> None:
    """Sums along what they are of; that may have too little space."""
    if piece := draft.pick(lambda each: each.rank > 0 and each.is_tile and each.is_float):
        rank = draft.random.randint(1, min(3, piece.rank))
        sums = draft.read(piece).accum(Add(), rank=rank)
        for _ in range(rank):
            sums, _ = sums.reshape(1)
        draft.keep(sums.expand(draft.read(piece), rank=rank), timed=piece.timed)


@step(2)
def read_behind_sums(draft: GrowingDraft) -> None:
    """A buffer that is read once its sum is there."""
    piece = draft.stored()
    if piece and piece.is_tile and piece.is_float:
        buffers, rank = draft.fill(piece)
        sums = draft.read(piece).accum(Add(), rank=rank)
        if draft.chance(0.7):
            sums = sums.repeat(draft.random.randint(1, 3))
        draft.keep(buffers.streamify(sums), timed=piece.timed)


@step(3)
def read_what_is_stored(draft: GrowingDraft) -> None:
    """Tiles that are stored, read again behind their acknowledgements, and perhaps stored elsewhere."""

    def fits(piece: Piece) -> bool:
        return piece.is_tile and piece.rank < HIGHEST_RANK and not piece.timed

    if piece := draft.pick(fits, factor=2):
        tile, number = piece.element, len(entries(piece.rank + 1, piece.nested))
        assert isinstance(tile, Tile)
        places = iter(draft.random.sample(range(2 * number + 2), 2 * number))

        def addresses(of: Piece) -> Piece:
            return draft.numbers(of, places, "at")

        tensor, where = draft.tensor_of(tile, 2 * number + 2), addresses(piece)
        (done,) = draft.keep(draft.read(piece).store_random(tensor, draft.read(where)))
        for rest in range(draft.random.randint(1, 2)):
            (read,) = draft.keep(_behind(draft, where, done).load_random(tensor, tile=tile.shape))
            if rest == 0 and draft.chance(0.5):
                where = addresses(read)
                (done,) = draft.keep(draft.read(read).store_random(tensor, draft.read(where)))


def _behind(draft: Draft, where: Piece, done: Piece) -> Stream:
    """The addresses, each once what was stored there is acknowledged."""
    addresses, reference = (draft.read(each).reshape(1)[0] for each in (where, done))
    ordered = addresses.expand(reference, rank=1).flatten(0, 1)
    draft.keep()
    return ordered
