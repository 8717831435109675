"""ItemOf: one item of tuples."""

from __future__ import annotations

from dataclasses import dataclass

from step.language.draft import Draft
from step.language.expecting import expect_element, only
from step.language.operator import Names, Operator, StreamType, expect
from step.language.stream import Stream, stream_method
from step.language.types import Tuple


@dataclass(frozen=True)
class ItemOf(Operator):
    """Item ``index`` of every tuple; the opposite of Zip.

    >>> graph = Graph("item_of")
    >>> pairs = graph.source("x", Tile(FP32), [3]).zip(graph.source("y", Tile(BOOL), [3]))
    >>> pairs.item_of(1).sink("flags")
    """

    index: int

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        stream = only(inputs, "an item is of")
        element = expect_element(stream.element, Tuple, "only tuples have items")
        count = len(element.items)
        expect(0 <= self.index < count, f"a tuple of {count} has items 0 to {count - 1}, but no {self.index}")
        return (StreamType(element.items[self.index], stream.shape),)


@stream_method
def item_of(stream: Stream, index: int, *, name: str | None = None) -> Stream:
    """Item ``index`` of every tuple; ``stream[index]`` is the same."""
    return stream.graph.add(ItemOf(index), [stream], name=name)[0]


WEIGHT = 6


def sample(draft: Draft) -> None:
    """An item of any tuple."""
    if piece := draft.pick(lambda each: isinstance(each.element, Tuple)):
        index = draft.random.randrange(len(piece.element.items))
        draft.keep(draft.read(piece).item_of(index), timed=piece.timed)
