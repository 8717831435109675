"""Sums, products and other functions of two tensors, scalar by scalar.

They take any layout, and give that of the operand with more axes. The other one is brought to it: repeated along loops
that it lacks, with as many columns in a tile. Parameters are read as they are wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from step import BF16, BOOL, FP32, DType, Stream
from step.functions import Add, Cast, Div, Max, Min, Mul, MulAdd, Scale, Sub, Where
from step.language.dtypes import INTEGERS
from step.language.function import MapFunction
from step_torch.importing import Importer, with_dtype
from step_torch.layouts import AxisPart, Dims, TileLayout, Value, sizes
from step_torch.lowerings.shapes import spread
from step_torch.pieces import plain
from step_torch.registry import lowers
from step_torch.sources import Stored, Unsupported

Function = Callable[..., MapFunction]


@lowers("aten.add.Tensor", "aten.add.Scalar")
def add(at: Importer, x: Any, y: Any, alpha: float = 1) -> Any:
    """x + alpha * y."""
    if alpha == 1 or is_number(y):
        return _binary(at, Add, x, alpha * y if is_number(y) else y)
    (first, second, scale), lead = alongside(at, x, y, alpha)
    return with_dtype(lead, second.map(MulAdd(out=at.dtype), scale, first, name=at.name()), at.dtype)


@lowers("aten.sub.Tensor", "aten.sub.Scalar")
def subtract(at: Importer, x: Any, y: Any, alpha: float = 1) -> Any:
    """x - alpha * y."""
    return _binary(at, Sub, x, y) if alpha == 1 else add(at, x, y, -alpha)


@lowers("aten.rsub.Scalar")
def subtract_from(at: Importer, x: Any, y: Any, alpha: float = 1) -> Any:
    """y - alpha * x."""
    return subtract(at, y, x, alpha)


@lowers("aten.mul.Tensor", "aten.mul.Scalar")
def multiply(at: Importer, x: Any, y: Any) -> Any:
    """x * y, of truths both."""
    if at.dtype is BOOL:
        (first, second), lead = alongside(at, x, y)
        return with_dtype(lead, first.map(Where(), second, first, name=at.name()), BOOL)
    return _binary(at, Mul, x, y)


@lowers("aten.div.Tensor", "aten.div.Scalar")
def divide(at: Importer, x: Any, y: Any) -> Any:
    """x / y."""
    return _binary(at, Div, x, y)


@lowers("aten.maximum.default")
def maximum(at: Importer, x: Any, y: Any) -> Any:
    """The larger one of x and y."""
    return _binary(at, Max, x, y)


@lowers("aten.minimum.default")
def minimum(at: Importer, x: Any, y: Any) -> Any:
    """The smaller one of x and y."""
    return _binary(at, Min, x, y)


@lowers("aten.clone.default", "aten.alias.default", "aten.detach.default", "aten.contiguous.default")
def same(at: Importer, x: Any, *, memory_format: Any = None) -> Any:
    """The value itself: streams have no strides."""
    return x


def applied(at: Importer, x: Any, *functions: Function) -> Value:
    """``functions`` of one operand, one behind the other: in FP32, and rounded behind the last one."""
    value = at.tiles(x)
    stream = value.stream
    for function in functions[:-1]:
        made = function(out=FP32)
        stream = stream.map(made, name=at.name(made.name))
    return with_dtype(value, stream.map(functions[-1](out=at.dtype), name=at.name()), at.dtype)


def constant(at: Importer, number: float, reference: Stream, dtype: DType = FP32) -> Stream:
    """``number`` as often as there are tiles of ``reference``."""
    return at.graph.constant(number, dtype=dtype, reference=reference, name=at.name("constant"))


def numbers_of(at: Importer, given: Sequence[Any]) -> list[Any]:
    """``given`` with a number for each constant that has one alone, where another operand has all dimensions."""
    others = [each for each in given if not is_number(each) and not uniform(each)]
    if not any(sizes(each.dims) == at.meta.shape for each in others):
        return [*given]
    return [each.data.flat[0].item() if uniform(each) else each for each in given]


def uniform(given: Any) -> bool:
    """Whether ``given`` is a constant of which all scalars are one number."""
    return isinstance(given, Stored) and given.is_constant and bool((given.data == given.data.flat[:1]).all())


def is_number(given: Any) -> bool:
    """Whether ``given`` is a number, and no tensor."""
    return isinstance(given, int | float)


def _binary(at: Importer, function: Function, x: Any, y: Any) -> Value:
    x, y = numbers_of(at, (x, y))
    if is_number(y) and function is Mul:
        return applied(at, x, partial(Scale, float(y)))
    streams, lead = alongside(at, x, y)
    first, second = (cast(at, each, BF16) if kept(each) is BOOL else each for each in streams)
    return with_dtype(lead, first.map(function(out=at.dtype), second, name=at.name()), at.dtype)


def kept(stream: Stream) -> DType:
    """The format of the tiles of ``stream``."""
    return stream.element.tiles[0].dtype


def cast(at: Importer, stream: Stream, dtype: DType) -> Stream:
    """``stream`` in the format ``dtype``."""
    return stream if kept(stream) is dtype else stream.map(Cast(dtype), name=at.name("cast"))


def alongside(at: Importer, *given: Any, dtype: DType = FP32) -> tuple[list[Stream], Value]:
    """The streams of tensors and numbers, the latter in ``dtype``, in one layout, and the value that has it."""
    operands = numbers_of(at, given)
    tensors = [each for each in operands if not is_number(each)]
    if len(tensors) == 2:
        *streams, lead = together(at, *tensors)
    elif len(tensors) == 1:
        lead = at.tiles(tensors[0])
        streams = [lead.stream]
    else:
        axes = max(map(_axes, tensors))
        small = [isinstance(each, Stored) and (each.is_parameter or _axes(each) < axes) for each in tensors]
        values = [each if is_small else at.value(each) for each, is_small in zip(tensors, small, strict=True)]
        most = max(values, key=lambda each: (_axes(each), isinstance(each, Value)))
        lead = at.value(most)
        widest = max(each.layout.tile[1] for each in (lead, *values) if isinstance(each, Value))
        lead = at.joiner.columns(lead, widest, "operands have tiles of one size")
        streams = [lead.stream if each is most else together(at, lead, each)[1] for each in values]
    tensor, dtype = iter(streams), kept(lead.stream) if kept(lead.stream) in INTEGERS else dtype
    return [constant(at, each, lead.stream, dtype) if is_number(each) else next(tensor) for each in operands], lead


def _spread(at: Importer, x: Any, other: Any) -> Any:
    """``x`` repeated along what ``other`` alone has, where ``x`` has something, too, that ``other`` lacks."""
    mine, theirs = (
        (1,) * (max(len(x.dims), len(other.dims)) - len(each.dims)) + sizes(each.dims) for each in (x, other)
    )
    if all(own >= size for own, size in zip(mine, theirs, strict=True)) or _axes(other) > _axes(x):
        return x
    if all(own <= size for own, size in zip(mine, theirs, strict=True)):
        return x
    return spread(at, x, tuple(map(max, mine, theirs)))


def together(at: Importer, x: Any, y: Any) -> tuple[Stream, Stream, Value]:
    """The streams of ``x`` and ``y`` in one layout, and the one that has it."""
    if _axes(x) == _axes(y):
        x, y = (at.tiles(each) if isinstance(each, Stored) and not each.is_parameter else each for each in (x, y))
    x, y = (_spread(at, one, other) for one, other in ((x, y), (y, x)))
    swapped = _axes(y) > _axes(x) or (_axes(x) == _axes(y) and isinstance(x, Stored))
    lead, other = (y, x) if swapped else (x, y)
    first = at.tiles(spread(at, lead, np.broadcast_shapes(sizes(x.dims), sizes(y.dims))))
    if isinstance(other, Stored):
        if [*map(len, first.dims[len(first.dims) - len(other.dims) :])] != [*map(len, other.dims)]:
            first = plain(at, first)
        follower: Any = replace(other, dims=_renamed_dims(first.dims, other.dims))
        if not at.sources.lies_in(follower, restricted(first.layout, follower.dims)):
            first = at.value(first)
        wanted = restricted(first.layout, follower.dims)
        second = at.in_layout(follower, wanted, "an operand is read as the other one comes")
    else:
        first, follower = _alike(at, first, at.tiles(other))
        if any(first.layout.reach(each) != follower.layout.reach(each) for axes in follower.dims for each in axes):
            first, follower = at.value(first), at.value(follower)
        widest = max(each.layout.tile[1] for each in (first, follower))
        why = "operands have tiles of one size"
        mine, theirs = (each.layout.columns for each in (first, follower))
        if mine is None or theirs is None or mine.axis == theirs.axis:
            first, follower = (at.joiner.columns(each, widest, why) for each in (first, follower))
        rows = [] if follower.layout.rows is None else [(follower.layout.rows.axis,)]  # of several texts, too
        second = at.joiner.to(follower, restricted(first.layout, (*follower.dims, *rows)), "operands come in one order")
    return (second.stream, first.stream, first) if swapped else (first.stream, second.stream, first)


def _alike(at: Importer, lead: Value, other: Value) -> tuple[Value, Value]:
    """Both with the axes of ``lead``: where one has several in a dimension for one of the other, with one in each."""
    aligned = zip(reversed(lead.dims), reversed(other.dims), strict=False)
    if any(
        mine and theirs and [each.extent for each in mine] != [each.extent for each in theirs]
        for mine, theirs in aligned
    ):
        lead, other = plain(at, lead), plain(at, other)
    return lead, renamed(other, lead.dims)


def renamed(value: Value, dims: Dims) -> Value:
    """``value`` with the axes of ``dims``, which are aligned at the last dimension."""
    new = _renamed_dims(dims, value.dims)
    pairs = zip(value.dims, new, strict=True)
    names = {old: axis for before, after in pairs for old, axis in zip(before, after, strict=True)}
    return replace(value, dims=new, layout=value.layout.renamed(names))


def _renamed_dims(lead: Dims, dims: Dims) -> Dims:
    """``dims`` with the axes of ``lead``, where they have any."""
    padded = ((),) * max(0, len(dims) - len(lead)) + lead
    aligned = padded[len(padded) - len(dims) :]
    for mine, theirs in zip(aligned, dims, strict=True):
        if theirs and [each.extent for each in mine] != [each.extent for each in theirs]:
            if sizes(dims) == sizes(lead):
                raise Unsupported(
                    f"two tensors {list(sizes(dims))}, of which one has a dimension that was made of several"
                )
            raise Unsupported(f"a tensor {list(sizes(dims))} can not be repeated to {list(sizes(lead))}")
    return tuple(mine if theirs else () for mine, theirs in zip(aligned, dims, strict=True))


def restricted(layout: TileLayout, dims: Dims) -> TileLayout:
    """``layout`` with tiles of what ``dims`` has, in all loops."""
    has = {axis for axes in dims for axis in axes}

    def own(part: AxisPart | None) -> AxisPart | None:
        return part if part is not None and part.axis in has else None

    return TileLayout(layout.loops, own(layout.rows), own(layout.columns))


def _axes(given: Any) -> int:
    return sum(map(len, given.dims))
