"""Arithmetic of streams, as methods and as signs: Map of a function, with numbers and arrays as constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from step.errors import TypeMismatch
from step.functions.compare import Compare
from step.functions.elementwise import Add, Mul, Scale, Sub
from step.functions.matmul import Matmul
from step.functions.reciprocal import Div
from step.language.dtypes import DType, as_dtype
from step.language.function import MapFunction
from step.language.graph import Tensor
from step.language.stream import Stream, stream_method
from step.language.types import Tile


@stream_method
def add(stream: Stream, other: Any, *, out: DType | str | None = None, name: str | None = None) -> Stream:
    """``stream + other``, scalar by scalar (`step.functions.Add`); ``other`` is a stream, or a value as of `beside`."""
    return _mapped(Add(_format(out)), stream, other, name)


@stream_method
def subtract(stream: Stream, other: Any, *, out: DType | str | None = None, name: str | None = None) -> Stream:
    """``stream - other``, scalar by scalar (`step.functions.Sub`)."""
    return _mapped(Sub(_format(out)), stream, other, name)


@stream_method
def multiply(stream: Stream, other: Any, *, out: DType | str | None = None, name: str | None = None) -> Stream:
    """``stream * other``, scalar by scalar (`step.functions.Mul`; times a number: `step.functions.Scale`)."""
    if isinstance(other, int | float | np.number):
        return stream.map(Scale(other, _format(out)), name=name)  # type: ignore[arg-type]
    return _mapped(Mul(_format(out)), stream, other, name)


@stream_method
def divide(stream: Stream, other: Any, *, out: DType | str | None = None, name: str | None = None) -> Stream:
    """``stream / other``, scalar by scalar (`step.functions.Div`)."""
    return _mapped(Div(_format(out)), stream, other, name)


@stream_method
def matmul(stream: Stream, other: Any, *, out: DType | str | None = None, name: str | None = None) -> Stream:
    """``stream @ other``, tile by tile (`step.functions.Matmul`).

    With fused sums it is ``stream.map(Matmul(sum="fused"), stream.beside(other))``.
    """
    dtype = _format(out)
    return _mapped(Matmul() if dtype is None else Matmul(out=dtype), stream, other, name)


@stream_method
def compare(stream: Stream, relation: str, other: Any, *, name: str | None = None) -> Stream:
    """Whether ``stream relation other``, as ``stream > other``, scalar by scalar (`step.functions.Compare`)."""
    return _mapped(Compare(relation), stream, other, name)


@stream_method
def beside(stream: Stream, value: Any, *, name: str | None = None) -> Stream:
    """A number, or an array as a tile, for every element of a stream of tiles, in the format of these.

    A tensor of the graph, of two dimensions, is one tile in its own format, read again for every element.

    Raises `TypeMismatch` for other streams, and for what their format does not have.
    """
    if isinstance(value, Tensor):
        loaded = stream.graph.load(value, tile=value.shape, reference=stream, name=name)
        return loaded.flatten(0, len(value.shape))
    if not isinstance(stream.element, Tile):
        raise TypeMismatch(f"{stream} has elements {stream.element}, with which nothing can be calculated")
    return stream.graph.constant(value, dtype=stream.element.dtype, reference=stream, name=name)


def _mapped(function: MapFunction, stream: Stream, other: Any, name: str | None) -> Stream:
    return stream.map(function, other if isinstance(other, Stream) else beside(stream, other), name=name)


def _format(out: DType | str | None) -> DType | None:
    return None if out is None else as_dtype(out)
