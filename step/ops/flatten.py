"""Flatten: adjacent dimensions become one."""

from __future__ import annotations

from dataclasses import dataclass

from step.language.dims import DimKind, derive, product
from step.language.operator import Names, Operator, Placed, Process, StreamType, Surroundings, expect, expect_rank
from step.language.stream import Stream, stream_method
from step.language.tokens import OPEN, Token, bare


@dataclass(frozen=True)
class Flatten(Operator):
    """Dimensions ``low`` to ``high`` (counted from the innermost, 0) become one.

    A stop s <= low stays; low < s <= high becomes ``low`` (0: it vanishes); s > high becomes s - (high - low).
    An empty tensor of a rank above ``low`` and up to ``high`` adds no element, so a stop that only closes it
    vanishes, and one that closes more is moved onto the token before it: where the merged dimensions
    may be empty, that token is held back until the next one is seen.
    """

    low: int
    high: int

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        expect(len(inputs) == 1, f"flatten takes one stream, not {len(inputs)}")
        (stream,) = inputs
        expect_rank(self.high, 1, stream.rank, "high")
        expect_rank(self.low, 0, self.high - 1, "low")
        first, last = len(stream.shape) - 1 - self.high, len(stream.shape) - self.low
        merged = stream.shape[first:last]
        joined = derive(
            merged, product(merged), lambda: names.symbol("flat", DimKind.RAGGED if first else DimKind.DYNAMIC)
        )
        return (StreamType(stream.element, (*stream.shape[:first], joined, *stream.shape[last:])),)

    def holds(self, stream: StreamType) -> bool:
        """Whether a token may have to wait for the next one: some dimension below ``high`` may be empty."""
        return any(each.may_be_empty for each in stream.shape[len(stream.shape) - self.high :])

    def merged_stop(self, stop: int) -> int:
        """What a stop that ends an element becomes."""
        if stop <= self.low:
            return stop
        return self.low if stop <= self.high else stop - (self.high - self.low)

    def process(self, node: Placed, around: Surroundings) -> Process:
        held: Token | None = None
        before = OPEN
        while True:
            token = yield 0
            if token.is_bare and min(token.stop, before) > self.low:
                if token.stop > self.high:
                    stop = token.stop - (self.high - self.low)
                    around.emit(0, held._replace(stop=stop) if held is not None else bare(stop))
                    held = None
                before = token.stop
                continue
            if held is not None:
                around.emit(0, held)
                held = None
            if token.done:
                around.emit(0, token)
                return
            merged = token._replace(stop=self.merged_stop(token.stop))
            if self.low < token.stop <= self.high:
                held = merged
            else:
                around.emit(0, merged)
            before = token.stop


@stream_method
def flatten(stream: Stream, low: int, high: int, *, name: str | None = None) -> Stream:
    """Merge dimensions ``low`` to ``high``, counted from the innermost one (0)."""
    return stream.graph.add(Flatten(low, high), [stream], name=name)[0]
