"""Paced: a stream, element by element, with another one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from step.language.draft import Draft
from step.language.faults import aligned
from step.language.operator import (
    Names,
    Operator,
    Placed,
    Process,
    StreamType,
    Surroundings,
    each_input,
    expect,
    expect_same_shape,
)
from step.language.stream import Stream, stream_method


@dataclass(frozen=True)
class Paced(Operator):
    """Passes the tokens of its first stream, each together with one of the second, which it takes unread."""

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        expect(len(inputs) == 2, f"what is paced is two streams, not {len(inputs)}")
        expect_same_shape(inputs)
        return (inputs[0],)

    def process(self, node: Placed, around: Surroundings) -> Process:
        while True:
            tokens = yield from each_input(node)
            done = aligned(*tokens).done
            around.emit(0, tokens[0])
            if done:
                return

    def passes_on(self, inputs: int, output: int) -> Sequence[int]:
        return (0,)


@stream_method
def paced(stream: Stream, pace: Stream, *, name: str | None = None) -> Stream:
    """The same stream, no faster than ``pace``."""
    return stream.graph.add(Paced(), [stream, pace], name=name)[0]


def sample(draft: Draft) -> None:
    """A stream with itself."""
    if piece := draft.pick():
        stream = draft.read(piece)
        draft.keep(paced(stream, stream), timed=piece.timed)
