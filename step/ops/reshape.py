"""Reshape: splits a dimension into chunks, and pads the last one if it is the innermost dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sympy

from step.errors import TypeMismatch
from step.language.dims import Dim, DimKind, derive, dim
from step.language.draft import HIGHEST_RANK, Draft, Piece
from step.language.dtypes import BOOL
from step.language.expecting import only
from step.language.operator import Names, Operator, Placed, StreamType, expect, expect_rank
from step.language.padding import FLAGS, Padded, Padding
from step.language.stream import Stream, stream_method
from step.language.types import ElementType, Selector, Tile, Tuple, is_dynamic
from step.language.useful import merged, rows_of


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

    A chunk left open by a stop or by Done is filled up with tiles of ``pad``, but for tiles of dynamic size, for which
    ``chunk`` has to divide D0. A dimension D``rank`` that is not the innermost one becomes ``[.., Drank / chunk, chunk,
    ..]``: it must be static, and is never padded.

    >>> graph = Graph("reshape")
    >>> x = graph.source("x", Tile(FP32), [7])
    >>> for name, stream in zip(("chunks", "padding"), x.reshape(4)): stream.sink(name)
    """

    chunk: int
    pad: float = 0.0
    rank: int = 0

    output_names = ("", "padding")
    optional_outputs = ("padding",)

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        expect(self.chunk >= 1, f"chunk must be an integer >= 1, not {self.chunk!r}")
        stream = only(inputs, "reshape takes")
        expect_rank(self.rank, 0, stream.rank)
        at = stream.rank - self.rank
        split = stream.shape[at]
        if self.rank:
            self._check_split(split)
        elif self.chunk > 1 and not (is_dynamic(stream.element) and self.divides(split)):
            pad_element(stream.element, self.pad)
        chunks = derive(
            [split], sympy.ceiling(split.extent / self.chunk), lambda: names.symbol("chunks", DimKind.RAGGED)
        )
        shape = (*stream.shape[:at], chunks, dim(self.chunk), *stream.shape[at + 1 :])
        return StreamType(stream.element, shape), StreamType(Tile(BOOL), shape)

    def divides(self, inner: Dim) -> bool:
        """Whether no chunk of this dimension is left open, whatever the extents of symbols."""
        return self.chunk == 1 or (not inner.is_ragged and bool((inner.extent / self.chunk).is_integer))

    def _check_split(self, split: Dim) -> None:
        """Raise `TypeMismatch` for a dimension of which the last chunk would have to be padded."""
        expect(self.pad == 0, f"only the innermost dimension is padded: pad must be 0 with rank {self.rank}")
        expect(
            split.is_static and int(split) % self.chunk == 0,
            f"dimension {self.rank} must have a static extent that chunk {self.chunk} divides, not {split}",
        )

    def passes_on(self, inputs: int, output: int) -> Sequence[int]:
        return (0,) if output == 0 else ()  # the stops say what is padding

    def padding(self, node: Placed, inputs: Sequence[Padding]) -> tuple[Padding, ...]:
        (given,), chunk = inputs, dim(self.chunk)
        (stream,) = node.input_types
        inner, rest = stream.shape[-1], FLAGS if self.rank == 0 else None
        fills = self.chunk > 1 and not (inner.is_static and int(inner) % self.chunk == 0)
        if self.rank == 0 and isinstance(stream.element, Tile) and fills:
            rows = merged(node, inputs, [0])
            whole = stream.count * rows_of(stream.element)
            return Padded(whole if rows is None else rows.rows), rest
        if given is None:
            return None, rest
        alike = given.alike + 1 if given.alike > self.rank or (self.rank == 0 and chunk == dim(1)) else given.alike
        return given.times(1, alike), rest


@stream_method
def reshape(
    stream: Stream, chunk: int, *, pad: float = 0.0, rank: int = 0, name: str | None = None
) -> tuple[Stream, Stream]:
    """Chunks of ``chunk`` elements, or tensors of ``rank``, and the stream that marks padding."""
    data, padding = stream.graph.add(Reshape(chunk, pad, rank), [stream], name=name)
    return data, padding


WEIGHT = 6


def sample(draft: Draft) -> None:
    """The innermost dimension in chunks, the last one padded, or another one in equal parts."""

    def splits(piece: Piece) -> list[tuple[int, int]]:
        """Ranks and chunks that fit."""
        outer = [(rank, piece.stream.shape[-1 - rank]) for rank in range(1, piece.rank + 1)]
        extents = [(rank, int(each)) for rank, each in outer if each.is_static]
        return [(rank, chunk) for rank, extent in extents for chunk in range(1, extent + 2) if extent % chunk == 0]

    if draft.chance(0.5) and (piece := draft.pick(lambda each: each.rank < HIGHEST_RANK and bool(splits(each)))):
        rank, chunk = draft.random.choice(splits(piece))
        data, padding = draft.read(piece).reshape(chunk, rank=rank)
        draft.keep(data, *[padding] * draft.chance(0.3), timed=piece.timed)
    elif piece := draft.pick(lambda each: each.rank < HIGHEST_RANK, factor=3):
        inner = piece.stream.shape[-1]
        fits = [chunk for chunk in range(1, 4) if not piece.is_dynamic or Reshape(chunk).divides(inner)]
        chunk = 1 if isinstance(piece.element, Tuple) else draft.random.choice(fits)
        pad = draft.random.choice([0.0, 1.0]) if piece.is_tile else 0.0
        data, padding = draft.read(piece).reshape(chunk, pad=pad)
        draft.keep(data, *[padding] * draft.chance(0.6), timed=piece.timed)
