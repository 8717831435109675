"""Reshape: splits the innermost dimension into chunks, and pads the last one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sympy

from step.errors import TypeMismatch
from step.language.dims import DimKind, derive, dim
from step.language.dtypes import BOOL
from step.language.operator import Names, Operator, Placed, Process, StreamType, Surroundings, expect
from step.language.stream import Stream, stream_method
from step.language.tokens import Token, empty
from step.language.types import ElementType, Selector, Tile

_REAL, _PADDING = np.zeros((1, 1), np.bool_), np.ones((1, 1), np.bool_)


def pad_element(element: ElementType, pad: float) -> object:
    """The element that fills up chunks: a tile full of ``pad``, or the empty selector."""
    if isinstance(element, Tile) and element.is_static:
        return np.full(element.shape, pad, element.dtype.numpy)
    if isinstance(element, Selector) and pad == 0:
        return 0
    raise TypeMismatch(f"reshape can pad a static tile, or a selector with 0, not {element} with {pad}")


@dataclass(frozen=True)
class Reshape(Operator):
    """``[.., D0]`` -> ``[.., ceil(D0 / chunk), chunk]``, and a stream of the same shape that is true for padding.

    A chunk left open by a stop or by Done is filled up with tiles of ``pad``.
    """

    chunk: int
    pad: float = 0.0

    output_names = ("", "padding")
    optional_outputs = ("padding",)

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        expect(len(inputs) == 1, f"reshape takes one stream, not {len(inputs)}")
        expect(isinstance(self.chunk, int) and self.chunk >= 1, f"chunk must be an integer >= 1, not {self.chunk!r}")
        (stream,) = inputs
        if self.chunk > 1:  # chunks of one are never left open
            pad_element(stream.element, self.pad)
        inner = stream.shape[-1]
        chunks = inner  # as many chunks of one as elements, ragged or not
        if self.chunk > 1:
            chunks = derive(
                [inner], sympy.ceiling(inner.extent / self.chunk), lambda: names.symbol("chunks", DimKind.RAGGED)
            )
        shape = (*stream.shape[:-1], chunks, dim(self.chunk))
        return StreamType(stream.element, shape), StreamType(Tile(BOOL), shape)

    def passes_on(self, inputs: int, output: int) -> Sequence[int]:
        return (0,) if output == 0 else ()  # the stops say what is padding

    def process(self, node: Placed, around: Surroundings) -> Process:
        filler = pad_element(node.input_types[0].element, self.pad) if self.chunk > 1 else None
        count = 0

        def emit(value: object, stop: int, flag: np.ndarray) -> None:
            nonlocal count
            count = (count + 1) % self.chunk
            level = stop + 1 if count == 0 else 0
            around.emit(0, Token(value, level))
            around.emit(1, Token(flag, level))

        def fill(stop: int) -> None:
            while count:
                emit(filler, stop, _PADDING)

        while not (token := (yield 0)).done:
            if token.has_value:
                emit(token.value, token.stop, _REAL)
                if token.stop:
                    fill(token.stop)
            else:
                for port in range(2):
                    around.emit(port, empty(token.rank + 1, token.stop + 1))
        fill(0)
        for port in range(2):
            around.emit(port, token)


@stream_method
def reshape(stream: Stream, chunk: int, *, pad: float = 0.0, name: str | None = None) -> tuple[Stream, Stream]:
    """Chunks of ``chunk`` elements, and the stream that marks padding."""
    data, padding = stream.graph.add(Reshape(chunk, pad), [stream], name=name)
    return data, padding
