"""Steps that route, gather and merge."""

from __future__ import annotations

from typing import Literal

from step.functions.cast import Cast
from step.functions.select import SelectAll
from step.fuzz.draft import HIGHEST_RANK, Draft, Piece
from step.fuzz.nested import inside
from step.fuzz.step import step
from step.fuzz.values import alike, grouped
from step.language.stream import Stream
from step.language.types import Selector, Tile


def selecting(draft: Draft, piece: Piece) -> Piece:
    """Selectors for the chunks of ``piece``, of any rank: from the pool, or a source."""
    if piece.timed:
        return draft.keep(draft.read(piece).map(SelectAll(draft.random.randint(1, 3))), timed=True)[0]
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
    targets, outer = draft.random.choice([1, 2, 2, 3, 3, 5]), draft.random.randint(1, piece.rank + 1)
    masks = inside(outer, lambda _: draft.random.randrange(1 << targets), piece.nested)
    return draft.selectors(targets, masks, piece.stream.shape[:outer])


def route(draft: Draft, piece: Piece) -> tuple[list[Piece], Piece, int]:
    """The parts of ``piece`` behind a Partition, the selectors, and the rank of the chunks."""
    which = selecting(draft, piece)
    assert isinstance(which.element, Selector)
    rank = piece.rank - which.rank
    parts = draft.read(piece).partition(draft.read(which), targets=which.element.targets, rank=rank)
    return draft.keep(*parts, timed=piece.timed), which, rank


@step(3)
def partition(draft: Draft) -> None:
    """Chunks to targets, which go their own ways."""
    if piece := draft.pick():
        route(draft, piece)


@step(4)
def route_and_gather(draft: Draft) -> None:
    """Chunks through several targets and together again, in the order of the selectors that sent them."""
    if piece := draft.pick(lambda each: each.rank < HIGHEST_RANK, factor=3):
        parts, which, rank = route(draft, piece)
        streams = [draft.read(each) for each in parts]
        if isinstance(piece.element, Tile) and piece.element.dtype.is_float:
            for port in range(len(streams)):
                for _ in range(draft.random.randint(0, 2)):
                    streams[port] = streams[port].map(Cast(piece.element.dtype))
        gather(draft, streams, which, rank, timed=piece.timed)


def gather(draft: Draft, streams: list[Stream], which: Piece, rank: int, *, timed: bool) -> None:
    """Chunks of ``streams`` together again, in the order of the ports or of arrival."""
    order: Literal["index", "arrival"] = draft.random.choice(["index", "arrival"])
    again = draft.graph.reassemble(streams, draft.read(which), rank=rank, order=order)
    draft.keep(again, timed=timed or order == "arrival")


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


@step(2)
def reassemble(draft: Draft) -> None:
    """Chunks from anywhere, for selectors that take them all."""

    if first := draft.pick(lambda each: not each.timed and each.rank < HIGHEST_RANK - 1):
        others = [each for each in draft.pool if not each.timed and same_chunks(first, each)]
        pieces = [first, *draft.random.choices(others, k=draft.random.randint(0, 2))]
        left = [len(each.nested) for each in pieces]
        masks = []
        while any(left) or draft.chance(0.2):
            chosen = [port for port, count in enumerate(left) if count and draft.chance(0.6)]
            masks.append(sum(1 << port for port in chosen))
            for port in chosen:
                left[port] -= 1
        rank = draft.random.choice([0, 0, 1, 2]) if first.rank < 3 else 0
        nested = grouped(draft.random, masks, rank)
        outermost = len(nested) if draft.chance(0.3) else draft.graph.symbol(draft.name("N"))
        dims = [outermost, *(draft.graph.symbol(draft.name("R"), ragged=True) for _ in range(rank))]
        which = draft.selectors(len(pieces), nested, dims)
        gather(draft, [draft.read(each) for each in pieces], which, first.rank, timed=False)


@step(2)
def eager_merge(draft: Draft) -> None:
    """Chunks from anywhere, as they come."""
    if first := draft.pick(lambda each: each.rank < HIGHEST_RANK):
        others = [each for each in draft.pool if same_chunks(first, each)]
        pieces = [first, *draft.random.choices(others, k=draft.random.randint(0, 2))]
        merged, which = draft.graph.eager_merge([draft.read(each) for each in pieces], rank=first.rank)
        draft.keep(merged, *[which] * draft.chance(0.7), timed=True)
