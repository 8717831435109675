"""Shift: every element in the place of the next one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from step.language.draft import Draft
from step.language.operator import Names, Operator, Placed, Process, StreamType, Surroundings, expect
from step.language.stream import Stream, stream_method
from step.language.tokens import Token
from step.language.types import Tile


@dataclass(frozen=True)
class Shift(Operator):
    """Rows move by one element: a tile of zeros comes in, and the last element goes nowhere."""

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        expect(len(inputs) == 1, f"what is shifted is one stream, not {len(inputs)}")
        element = inputs[0].element
        expect(isinstance(element, Tile) and element.is_static, f"what is shifted has tiles, not {element}")
        return (inputs[0],)

    def process(self, node: Placed, around: Surroundings) -> Process:
        before = zero = zeros(node)
        while not (token := (yield 0)).done:
            if token.has_value:
                around.emit(0, Token(before, token.stop))
                before = zero if token.stop else token.value
            else:
                around.emit(0, token)
        around.emit(0, token)


def zeros(node: Placed) -> Any:
    """The tile that comes in."""
    element = node.input_types[0].element
    assert isinstance(element, Tile)
    return np.zeros(element.shape, element.dtype.numpy)


@stream_method
def shift(stream: Stream, *, name: str | None = None) -> Stream:
    """The same stream, every row moved by one element."""
    return stream.graph.add(Shift(), [stream], name=name)[0]


def sample(draft: Draft) -> None:
    """Any static tiles."""
    if piece := draft.pick(lambda each: isinstance(each.element, Tile) and each.element.is_static):
        draft.keep(shift(draft.read(piece)), timed=piece.timed)
