"""Steps that load from off-chip memory, and store in it."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

import numpy as np

from step.fuzz.draft import HIGHEST_RANK, Draft, Piece
from step.fuzz.nested import entries, inside
from step.fuzz.step import MANY, step
from step.fuzz.values import random_tile
from step.language.dtypes import UINT32
from step.language.graph import Tensor
from step.language.stream import Stream
from step.language.types import Tile


@step(3)
def load(draft: Draft) -> None:
    """A walk over a tensor, once or for every element of a reference."""
    out = [draft.random.randint(1, 3) for _ in range(draft.random.randint(1, 2))]
    reference = None
    if draft.chance(0.8):
        reference = draft.pick(lambda each: each.rank + len(out) <= HIGHEST_RANK, factor=prod(out))
    tile = random_tile(draft.random)
    grid = [draft.random.randint(1, 3) for _ in range(draft.random.choice([2, 2, 3]))]
    rows, cols = tile.shape
    tensor = draft.tensor([*grid[:-2], grid[-2] * rows, grid[-1] * cols], tile)
    stride = [draft.random.choice([-2, -1, 0, 1, 1, 2, 3]) for _ in out]
    ends = [(extent - 1) * each for extent, each in zip(out, stride, strict=True)]
    first, last = sum(min(0, each) for each in ends), sum(max(0, each) for each in ends)
    if last - first >= prod(grid):
        stride, first, last = [0 for _ in out], 0, 0
    stream = draft.graph.load(
        tensor,
        tile=tile.shape,
        out=out,
        stride=stride,
        offset=draft.random.randint(-first, prod(grid) - 1 - last),
        reference=None if reference is None else draft.read(reference),
    )
    draft.keep(stream, timed=reference is not None and reference.timed)


def tensor_of(draft: Draft, tile: Tile, tiles: int) -> Tensor:
    """A tensor of ``tiles`` tiles, or a few more."""
    down, (rows, cols) = draft.random.randint(1, 3), tile.shape
    across = -(-tiles // down)
    return draft.tensor([*[1] * draft.random.randint(0, 1), down * rows, across * cols], tile)


def addressing(draft: Draft, piece: Piece, values: Iterable[int]) -> Piece:
    """A source of addresses in the shape of ``piece``."""
    left = iter(values)
    nested = inside(piece.rank + 1, lambda _: np.array([[next(left)]], np.uint32), piece.nested)
    return draft.play("at", Tile(UINT32), nested, piece.stream.shape)


@step(3)
def load_random(draft: Draft) -> None:
    """Tiles at addresses that are there, or in the shape of any stream."""
    if piece := draft.pick(lambda each: not each.timed):
        tile, most = random_tile(draft.random), draft.random.randint(1, 9)
        where, highest = piece, MANY
        if piece.element == Tile(UINT32):
            highest = max((int(each.item()) for each in entries(piece.rank + 1, piece.nested)), default=0)
        if highest < MANY:
            most = highest + 1
        else:
            where = addressing(draft, piece, iter(lambda: draft.random.randrange(most), None))
        tensor = tensor_of(draft, tile, most)
        draft.keep(draft.read(where).load_random(tensor, tile=tile.shape))


@step(3)
def store_random(draft: Draft) -> None:
    """Tiles that are stored, perhaps read again behind their acknowledgements, and stored elsewhere."""

    def fits(piece: Piece) -> bool:
        return isinstance(piece.element, Tile) and piece.rank < HIGHEST_RANK and not piece.timed

    if piece := draft.pick(fits, factor=2):
        tile, number = piece.element, len(entries(piece.rank + 1, piece.nested))
        assert isinstance(tile, Tile)
        places = draft.random.sample(range(2 * number + 2), 2 * number)
        tensor = tensor_of(draft, tile, 2 * number + 2)
        where = addressing(draft, piece, places)
        (done,) = draft.keep(draft.read(piece).store_random(tensor, draft.read(where)))
        for rest in range(draft.random.randint(0, 2)):
            (read,) = draft.keep(behind(draft, where, done).load_random(tensor, tile=tile.shape))
            if rest == 0 and draft.chance(0.5):
                where = addressing(draft, read, places[number:])
                (done,) = draft.keep(draft.read(read).store_random(tensor, draft.read(where)))


def behind(draft: Draft, where: Piece, done: Piece) -> Stream:
    """The addresses, each once what was stored there is acknowledged."""
    addresses, reference = (draft.read(each).reshape(1)[0] for each in (where, done))
    ordered = addresses.expand(reference, rank=1).flatten(0, 1)
    draft.keep()
    return ordered
