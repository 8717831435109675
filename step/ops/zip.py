"""Zip: streams of equal shape side by side."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from step.language.draft import Draft
from step.language.operator import (
    Names,
    Operator,
    StreamType,
    expect,
    expect_same_shape,
)
from step.language.stream import Stream, stream_method
from step.language.types import Tuple, with_rows


@dataclass(frozen=True)
class Zip(Operator):
    """Makes tuples of the elements of its inputs, whose stops must agree; so must the rows of tiles of dynamic size.

    >>> graph = Graph("zip")
    >>> x, y = (graph.source(name, Tile(BF16), [3]) for name in "xy")
    >>> x.zip(y).sink("pairs")
    """

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        expect(len(inputs) >= 2, f"zip needs at least two streams, not {len(inputs)}")
        return (StreamType(Tuple(tuple(each.element for each in inputs)), expect_same_shape(inputs)),)


@stream_method
def zip(stream: Stream, *others: Stream, name: str | None = None) -> Stream:
    """Tuples of this stream's elements and those of ``others``."""
    return stream.graph.add(Zip(), [stream, *others], name=name)[0]


WEIGHT = 2


def sample(draft: Draft) -> None:
    """Two or three streams of any elements."""
    if piece := draft.pick():
        others = [draft.partner(piece) for _ in range(draft.random.randint(1, 2))]
        pieces = [piece, *others]
        wide = sum(with_rows(each.element, 1).bits for each in pieces) > draft.widest
        if not wide and all(one.has_rows_of(other) for one, other in combinations(pieces, 2)):
            draft.keep(draft.read(piece).zip(*(draft.read(each) for each in others)), timed=piece.timed)
