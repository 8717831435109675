"""Steps with buffers in on-chip memory."""

from __future__ import annotations

from math import prod

from step.functions.elementwise import Add
from step.fuzz.draft import HIGHEST_RANK, Draft, Piece
from step.fuzz.nested import inside
from step.fuzz.step import step
from step.fuzz.values import random_nested, random_tile, random_value
from step.language.types import Tile


def strides(draft: Draft, tiles: int) -> tuple[list[int], list[int]]:
    """Extents and strides of a read of up to four of the ``tiles`` of a buffer, which begins with the first one."""
    out = draft.random.choice([[1], [2], [3], [4], [2, 2]])
    stride = [draft.random.randint(0, 3) for _ in out]
    if sum((extent - 1) * each for extent, each in zip(out, stride, strict=True)) >= tiles:
        stride = [0 for _ in out]
    return out, stride


@step(6)
def buffer(draft: Draft) -> None:
    """A buffer, read once, so often, or after a reference, in order or with strides."""

    def fits(piece: Piece) -> bool:
        return 0 < piece.rank < HIGHEST_RANK - 1 and isinstance(piece.element, Tile)

    if piece := draft.pick(fits, factor=4):
        rank = draft.random.randint(1, piece.rank)
        if any(each.is_ragged for each in piece.stream.shape[-rank:][1:]):
            rank = 1
        buffers, dims = draft.read(piece).bufferize(rank=rank), piece.stream.shape[-rank:]
        out, stride = None, None
        if all(each.is_static and int(each) for each in dims) and draft.chance(0.6):
            out, stride = strides(draft, prod(map(int, dims)))
        outer, reference, count = piece.stream.shape[:-rank], None, None
        how = draft.random.choice(["once", "count", "sums", "reference", "reference"])
        if how == "count":
            count = draft.random.randint(1, 3)
        elif how == "sums" and piece.is_float:
            reference = draft.read(piece).accum(Add(), rank=rank)
            if draft.chance(0.7):
                reference = reference.repeat(draft.random.randint(1, 3))
        elif how == "reference" and not piece.timed:
            extra = draft.random.randint(0, 2 if len(outer) + rank < HIGHEST_RANK - 1 else 1)
            wanted = random_tile(draft.random)
            inner = [draft.graph.symbol(draft.name("R"), ragged=True) for _ in range(extra)]

            def again(_: object) -> object:
                extents: list[int | None] = [None] * extra
                return random_nested(draft.random, extents, wanted) if extra else random_value(draft.random, wanted)

            nested = inside(len(outer), again, piece.nested)
            reference = draft.read(draft.play("again", wanted, nested, [*outer, *inner]))
        draft.keep(buffers.streamify(reference, count=count, out=out, stride=stride), timed=piece.timed)
