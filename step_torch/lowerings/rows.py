"""Functions along dimensions: means, sums, extremes and softmax.

A row is looked at in one tile. Other dimensions are reduced over loops, of rows one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from step import BF16, BOOL, FP32, INT32, DType
from step.functions import Add, ArgMax, Cast, Compare, Div, Exp, Log, Max, Mul, RowMax, RowSum, Scale, Sub
from step.language.function import AccumFunction, MapFunction
from step_torch.importing import Importer, with_dtype
from step_torch.layouts import Value, sizes
from step_torch.lowerings.elementwise import alongside, constant, kept, note_width
from step_torch.pieces import in_blocks, merged
from step_torch.registry import lowers
from step_torch.sources import supported
from step_torch.views import in_shape

WHY = "a row is looked at as a whole"

Row = Callable[[DType], MapFunction]
Fold = Callable[[DType], AccumFunction]
"""Functions of a tile, and over a loop, by the format of what they give."""


@lowers("aten.mean.dim", "aten.mean.default")
def mean(at: Importer, x: Any, dims: list[int] | None = None, keep: bool = False) -> Value:
    """The mean along dimensions."""
    total, count = _sum(at, x, dims, keep, FP32)
    return with_dtype(total, at.rounded(total.stream.map(Scale(1 / count), name=at.name())), at.dtype)


@lowers("aten.sum.dim_IntList", "aten.sum.default")
def total(at: Importer, x: Any, dims: list[int] | None = None, keep: bool = False) -> Any:
    """The sum along dimensions."""
    return _sum(at, x, dims, keep, at.dtype)[0]


@lowers("aten.var.correction")
def variance(at: Importer, x: Any, dim: Any = None, *, correction: float | None = None, keepdim: bool = False) -> Value:
    """The variance along dimensions."""
    whole, count = _sum(at, x, dim, True, FP32)
    less = 1 if correction is None else correction
    supported(count > less, f"{count} along it, and a correction of {less}; more than the correction have a lowering")
    average = with_dtype(whole, whole.stream.map(Scale(1 / count), name=at.name("mean")), FP32)
    (first, second), value = alongside(at, x, average)
    apart = first.map(Sub(out=FP32), second, name=at.name("apart"))
    squares = with_dtype(value, apart.map(Mul(out=FP32), apart, name=at.name("squares")), FP32)
    squared, _ = _sum(at, squares, dim, keepdim, FP32)
    scale = Scale(1 / (count - less))
    return with_dtype(squared, at.rounded(squared.stream.map(scale, name=at.name())), at.dtype)


@lowers("aten.amax.default")
def largest(at: Importer, x: Any, dim: Sequence[int] = (), keepdim: bool = False) -> Value:
    """The largest along dimensions."""
    return reduced(at, x, dim, keepdim, lambda _: RowMax(), lambda _: Max(), at.dtype)


@lowers("aten.argmax.default")
def place_of_largest(at: Importer, x: Any, dim: int | None = None, keepdim: bool = False) -> Value:
    """The first place of the largest along a dimension, or of all."""
    given = in_shape(at, x, (prod(sizes(x.dims)),)) if dim is None else x
    value, back = along(at, given, -1 if dim is None else dim)
    place = value.stream.map(ArgMax(), name=at.name("number")).map(Cast(INT32), name=at.name("place"))
    found = back(Value(place, (*value.dims[:-1], ()), replace(value.layout, columns=None), INT32))
    gone = None if keepdim else (dim or 0) % len(found.dims)
    return replace(found, dims=tuple(axes for place, axes in enumerate(found.dims) if place != gone))


@lowers("aten.any.default", "aten.any.dim", "aten.any.dims")
def any_of(at: Importer, x: Any, dim: list[int] | int | None = None, keepdim: bool = False) -> Value:
    """Whether one along dimensions is true."""
    value = at.value(x)
    if kept(value.stream) is not BOOL:  # the largest of numbers below zero is not what is true
        nothing = constant(at, 0, value.stream, kept(value.stream))
        value = with_dtype(value, value.stream.map(Compare("!="), nothing, name=at.name("true")), BOOL)
    ones = with_dtype(value, value.stream.map(Cast(BF16), name=at.name("ones")), BF16)
    most = reduced(at, ones, [dim] if isinstance(dim, int) else dim, keepdim, lambda _: RowMax(), lambda _: Max(), BF16)
    zero = constant(at, 0, most.stream, BF16)
    return with_dtype(most, most.stream.map(Compare("!="), zero, name=at.name()), at.dtype)


@lowers("aten.prod.dim_int")
def product_along(at: Importer, x: Any, dim: int, keepdim: bool = False) -> Value:
    """The product along a dimension, one factor after the other."""
    note_width(at)
    return reduced(at, x, [dim], keepdim, None, lambda out: Mul(out=out), at.dtype)


@lowers("aten.cumsum.default", "aten.cumprod.default")
def so_far(at: Importer, x: Any, dim: int) -> Value:
    """Sums, or products, of what comes first along a dimension."""
    value = merged(at, at.value(x), dim)
    if not value.dims[dim]:
        return value
    (axis,) = value.dims[dim]
    value, _ = in_blocks(at, value, axis, 1)
    loops = sorted(value.layout.loops, key=lambda part: part.axis == axis)
    value = at.joiner.reordered(value, loops, "sums go along one loop")
    function = (Mul if "prod" in at.node.op else Add)(out=_exact(at.dtype))
    if "prod" in at.node.op:
        note_width(at)
    made = value.stream.scan(function, name=at.name("so_far"))
    return with_dtype(value, at.rounded(made), at.dtype)


@lowers("aten.softmax.int", "aten._softmax.default", "aten.log_softmax.int", "aten._log_softmax.default")
def softmax(at: Importer, x: Any, dim: int, dtype: str | bool | None = None) -> Value:
    """e^x over its sum, with the largest along the dimension subtracted, or the logarithm of that."""
    value, back = along(at, x, dim, ragged=True)
    largest = value.stream.map(RowMax(), name=at.name("largest"))
    relative = value.stream.map(Sub(out=FP32), largest, name=at.name("relative"))
    weight = relative.map(Exp(), name=at.name("exponential"))
    total = weight.map(RowSum(), name=at.name("sum"))
    if "log" in at.node.op:
        total = total.map(Log(), name=at.name("logarithm"))
        made = relative.map(Sub(out=at.dtype), total, name=at.name())
    else:
        made = weight.map(Div(out=at.dtype), total, name=at.name())
    return back(with_dtype(value, made, at.dtype))


def along(at: Importer, x: Any, dim: int, *, ragged: bool = False) -> tuple[Value, Callable[[Value], Value]]:
    """``x`` with ``dim`` as its last dimension, all of it in a tile, and what brings a result back to its place.

    The last tile of ``ragged`` rows may have more than there are.
    """
    value = at.tiles(x) if ragged else at.value(x)
    dims = list(value.dims)
    dim %= max(1, len(dims))
    last = dims.pop(dim) if dims else ()
    value = merged(at, replace(value, dims=(*dims, last)), -1)

    def back(result: Value) -> Value:
        *others, last = result.dims
        return replace(result, dims=(*others[:dim], last, *others[dim:]))

    return at.whole_rows(value, WHY, ragged=ragged), back


def reduced(
    at: Importer, x: Any, dims: Sequence[int] | None, keep: bool, row: Row | None, fold: Fold, out: DType
) -> Value:
    """``x`` with one scalar along ``dims``, or along all: that of ``row`` in tiles, and of ``fold`` over loops.

    Each gets the format of its result, which is ``out`` at the end. Without ``row`` columns become a loop.
    """
    why, count = "all along some dimensions are taken together", len(x.dims)
    places = {each % count for each in dims} if dims else {*range(count)}
    in_rows = places == {count - 1} and row is not None
    value = at.whole_rows(x, WHY, ragged=True) if in_rows else at.value(x)
    gone = {axis for place in places for axis in value.dims[place]}
    wide = _exact(out)
    columns, rows = (part is not None and part.axis in gone for part in (value.layout.columns, value.layout.rows))
    if columns and row is None:
        value = at.joiner.columns(value, 1, why)
    folded = rows or any(part.axis in gone for part in value.layout.loops)
    if columns:
        stream = value.stream if row is None else value.stream.map(row(wide if folded else out), name=at.name("row"))
        value = replace(value, stream=stream, layout=replace(value.layout, columns=None))
    if rows:
        value = at.joiner.row_by_row(value, why)
    inner = [part for part in value.layout.loops if part.axis in gone]
    outer = tuple(part for part in value.layout.loops if part.axis not in gone)
    value = at.joiner.reordered(value, (*outer, *inner), why)
    stream = value.stream.accum(fold(wide), rank=len(inner), name=at.name("all")) if inner else value.stream
    if inner and out is BF16:
        stream = at.rounded(stream)
    left = [() if place in places else axes for place, axes in enumerate(value.dims) if keep or place not in places]
    return Value(stream, tuple(left), replace(value.layout, loops=outer), out)


def _exact(out: DType) -> DType:
    """The format in which many become one of ``out``."""
    return INT32 if out is INT32 else FP32


def _sum(at: Importer, x: Any, dims: Sequence[int] | None, keep: bool, out: DType) -> tuple[Value, int]:
    """The sum along ``dims``, or along all, and the number of scalars of each."""
    shape = sizes(x.dims)
    count = prod(shape[each] for each in dims) if dims else prod(shape)
    return reduced(at, x, dims, keep, lambda out: RowSum(out=out), lambda out: Add(out=out), out), count
