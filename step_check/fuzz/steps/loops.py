"""Steps with feedback edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from step.functions.cast import Cast
from step.functions.silu import Silu
from step.language.draft import HIGHEST_RANK, Piece
from step.language.dtypes import BOOL
from step.language.stream import Stream
from step.language.types import Tile
from step.library import parallelize
from step_check.fuzz.step import step
from step_check.samples.draft import ROOM, GrowingDraft
from step_check.samples.values import random_value


def delaying(draft: GrowingDraft, piece: Piece, most: int) -> Callable[[Stream], Stream]:
    """A function of the elements of ``piece`` to the same type, up to ``most`` units long, a new one in each use."""

    def body(x: Stream) -> Stream:
        for _ in range(draft.random.randint(0, most)):
            assert isinstance(piece.element, Tile)
            x = x.map(draft.random.choice([Cast(piece.element.dtype), Silu(piece.element.dtype)]))
        return x

    return body


@step(2)
def loop(draft: GrowingDraft) -> None:
    """Every chunk goes round a few times, some of them together."""
    count = draft.random.randint(1, 3)
    if piece := draft.pick(lambda each: not each.timed and each.rank < HIGHEST_RANK, factor=count + 1):
        graph, rank, name = draft.graph, piece.rank, draft.name("loop")
        together, left = draft.random.randint(1, 3), len(piece.nested)
        enters, leaves = list[int](), list[int]()
        while left:
            group = min(together, left)
            left -= group
            enters += [0] * group + [1] * group * (count - 1)
            leaves += [0] * group * (count - 1) + [1] * group
        inner = [
            graph.symbol(draft.name("R"), ragged=True) if each.is_ragged else each for each in piece.stream.shape[1:]
        ]
        edge = graph.feedback(piece.element, [len(piece.nested) * (count - 1), *inner], name=name)
        again = edge.stream.buffered(ROOM if draft.roomy else draft.random.randint(2, 8))
        order: Literal["index", "arrival"] = draft.random.choice(["index", "arrival"])
        enter = graph.turns(2, enters or [0], [len(enters)])
        gathered = graph.reassemble([draft.read(piece), again], enter, rank=rank, order=order).flatten(rank, rank + 1)
        x = gathered.assume_shape([len(enters), *gathered.shape[1:]])
        y = delaying(draft, piece, 2 * piece.is_float)(x)
        leave = graph.turns(2, leaves or [0], [len(leaves)])
        back, out = y.partition(leave, targets=2, rank=rank)
        edge.close(back.assume_shape(edge.type.shape))
        draft.go_round()
        (piece,) = draft.keep(out)
        if order == "arrival":  # of which nothing is known behind the end of a run
            draft.read(piece).sink(draft.name("y"))


@step(2)
def parallel(draft: GrowingDraft) -> None:
    """Chunks for whoever is free."""
    if piece := draft.pick(lambda each: not each.timed and each.rank < HIGHEST_RANK, factor=3):
        chunks = None
        if piece.rank and not piece.stream.shape[0].is_static:
            one = Tile(BOOL)
            ones = [random_value(draft.random, one) for _ in piece.nested]
            chunks = draft.read(draft.play("each", one, ones, piece.stream.shape[:1]))
        order: Literal["arrival", "input"] = draft.random.choice(["arrival", "input"])
        result = parallelize(
            draft.read(piece),
            delaying(draft, piece, 3 * piece.is_float),
            regions=draft.random.randint(1, 3),
            rank=piece.rank,
            order=order,
            chunks=chunks,
            name=draft.name("work"),
        )
        draft.go_round()
        draft.keep(result, timed=order == "arrival")
