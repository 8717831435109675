"""Steps that change shapes."""

from __future__ import annotations

from step.functions.elementwise import Add
from step.fuzz.draft import HIGHEST_RANK, Draft, Piece
from step.fuzz.nested import inside
from step.fuzz.step import step
from step.fuzz.values import random_tile, random_value, seen
from step.language.dims import Dim, dim
from step.language.types import Tile, Tuple


@step(7)
def flatten(draft: Draft) -> None:
    """Some adjacent dimensions as one."""
    if piece := draft.pick(lambda each: each.rank > 0):
        low = draft.random.randrange(piece.rank)
        draft.keep(draft.read(piece).flatten(low, draft.random.randint(low + 1, piece.rank)), timed=piece.timed)


@step(3)
def reshape(draft: Draft) -> None:
    """The innermost dimension in chunks, the last one padded."""
    if piece := draft.pick(lambda each: each.rank < HIGHEST_RANK, factor=3):
        chunk = 1 if isinstance(piece.element, Tuple) else draft.random.randint(1, 3)
        pad = draft.random.choice([0.0, 1.0]) if isinstance(piece.element, Tile) else 0.0
        data, padding = draft.read(piece).reshape(chunk, pad=pad)
        draft.keep(data, *[padding] * draft.chance(0.6), timed=piece.timed)


@step(3)
def split(draft: Draft) -> None:
    """A dimension that is not the innermost one, in equal parts."""

    def splits(piece: Piece) -> list[tuple[int, int]]:
        """Ranks and chunks that fit."""
        outer = [(rank, piece.stream.shape[-1 - rank]) for rank in range(1, piece.rank + 1)]
        extents = [(rank, int(each)) for rank, each in outer if each.is_static]
        return [(rank, chunk) for rank, extent in extents for chunk in range(1, extent + 2) if extent % chunk == 0]

    if piece := draft.pick(lambda each: each.rank < HIGHEST_RANK and bool(splits(each))):
        rank, chunk = draft.random.choice(splits(piece))
        data, padding = draft.read(piece).reshape(chunk, rank=rank)
        draft.keep(data, *[padding] * draft.chance(0.3), timed=piece.timed)


@step(2)
def promote(draft: Draft) -> None:
    """One more dimension around all."""
    if piece := draft.pick(lambda each: each.rank < HIGHEST_RANK):
        draft.keep(draft.read(piece).promote(), timed=piece.timed)


@step(2)
def repeat(draft: Draft) -> None:
    """Every element a few times."""
    if piece := draft.pick(lambda each: each.rank < HIGHEST_RANK, factor=3):
        draft.keep(draft.read(piece).repeat(draft.random.randint(1, 3)), timed=piece.timed)


@step(2)
def expand_static(draft: Draft) -> None:
    """An innermost dimension of one, several times."""
    if piece := draft.pick(lambda each: each.rank > 0 and each.stream.shape[-1] == dim(1), factor=4):
        draft.keep(draft.read(piece).expand_static(draft.random.randint(1, 4)), timed=piece.timed)


@step(3)
def expand(draft: Draft) -> None:
    """Along a reference: its own sums, or a source of ones."""
    if reference := draft.pick(lambda each: each.rank > 0 and (each.is_float or not each.timed)):
        rank = draft.random.randint(1, min(3, reference.rank))
        if reference.is_float and (reference.timed or draft.chance(0.5)):
            data = draft.read(reference).accum(Add(), rank=rank)
            for _ in range(rank):
                data, _ = data.reshape(1)
        else:
            wanted = random_tile(draft.random)

            def ones(levels: int) -> object:
                return [ones(levels - 1)] if levels else random_value(draft.random, wanted)

            nested = inside(reference.rank + 1 - rank, lambda _: ones(rank), reference.nested)
            data = draft.read(draft.play("ones", wanted, nested, [*reference.stream.shape[:-rank], *[1] * rank]))
        draft.keep(data.expand(draft.read(reference), rank=rank), timed=reference.timed)


@step(2)
def assume(draft: Draft) -> None:
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
