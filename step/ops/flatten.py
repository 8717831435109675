"""Flatten: adjacent dimensions become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from step.language.dims import DimKind, derive, product
from step.language.draft import Draft
from step.language.expecting import only
from step.language.operator import Names, Operator, Placed, StreamType, expect_rank
from step.language.padding import Padding
from step.language.stream import Stream, stream_method
from step.language.tokens import Token


@dataclass(frozen=True)
class Flatten(Operator):
    """Dimensions ``low`` to ``high`` (counted from the innermost, 0) become one.

    A stop s <= low stays; low < s <= high becomes ``low`` (0: it vanishes); s > high becomes s - (high - low). An empty
    of a rank up to ``low`` is an entry like any, and one of a rank above ``high`` loses the merged dimensions. One in
    between adds no entry and vanishes; where a merged row ends with it, the row's last token gets its stop, and a row
    with nothing in it is an empty of rank ``low`` + 1. So where that can be, a token that does not end its merged row
    is held back until the next one is seen.

    >>> graph = Graph("flatten")
    >>> x = graph.source("x", Tile(FP32), [2, 3, 4])
    >>> x.flatten(0, 1).sink("rows")
    """

    low: int
    high: int

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        stream = only(inputs, "flatten takes")
        expect_rank(self.high, 1, stream.rank, "high")
        expect_rank(self.low, 0, self.high - 1, "low")
        first, last = len(stream.shape) - 1 - self.high, len(stream.shape) - self.low
        merged = stream.shape[first:last]
        fresh = partial(names.symbol, "flat", DimKind.RAGGED if first else DimKind.DYNAMIC)
        joined = derive(merged, product(merged), fresh)
        if joined.is_ragged and not first:  # there is one tensor of it
            joined = fresh()
        return (StreamType(stream.element, (*stream.shape[:first], joined, *stream.shape[last:])),)

    def holds(self, stream: StreamType) -> bool:
        """Whether a merged row may end with an empty that adds nothing to it."""
        inner = stream.shape[len(stream.shape) - self.high : len(stream.shape) - self.low]
        return self.high < stream.rank and any(each.may_be_empty for each in inner)

    def merged(self, token: Token) -> Token:
        """The token that a token becomes which does not vanish."""
        lost, stop = self.high - self.low, token.stop
        if stop > self.high:
            stop -= lost
        elif stop > self.low:
            stop = self.low
        return token._replace(stop=stop, rank=token.rank - lost if token.rank > self.high else token.rank)

    def padding(self, node: Placed, inputs: Sequence[Padding]) -> tuple[Padding, ...]:
        (given,) = inputs
        if given is None or given.rows is None:
            return (given,)
        alike = given.alike
        if alike > self.high:
            alike -= self.high - self.low
        return (given.times(1, alike if given.alike > self.high else min(alike, self.low)),)


@stream_method
def flatten(stream: Stream, low: int, high: int, *, name: str | None = None) -> Stream:
    """Merge dimensions ``low`` to ``high``, counted from the innermost one (0)."""
    return stream.graph.add(Flatten(low, high), [stream], name=name)[0]


WEIGHT = 7


def sample(draft: Draft) -> None:
    """Any adjacent dimensions."""
    if piece := draft.pick(lambda each: each.rank > 0):
        low = draft.random.randrange(piece.rank)
        draft.keep(draft.read(piece).flatten(low, draft.random.randint(low + 1, piece.rank)), timed=piece.timed)
