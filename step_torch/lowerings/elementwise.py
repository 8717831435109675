"""Sums, products and other functions of two tensors, scalar by scalar.

They take any layout, and give that of the operand with more axes. The other one is brought to it: repeated along loops
that it lacks, with as many columns in a tile. Parameters are read as they are wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from step import BF16, BOOL, FP32, INT32, DType, Stream
from step.functions import Add, Cast, Div, Max, Min, Mul, MulAdd, Scale, Sub, Where
from step.language.dtypes import INTEGERS
from step.language.function import MapFunction
from step_torch.importing import Importer, with_dtype
from step_torch.layouts import AxisPart, Dims, TensorAxis, TileLayout, Value, sizes
from step_torch.lowerings.shapes import spread
from step_torch.pieces import plain
from step_torch.registry import declare, lowers
from step_torch.sources import STREAMS, Stored, Unsupported, is_parameter

Function = Callable[..., MapFunction]
Link = Function | tuple[Function, float]


@lowers("aten.add.Tensor", "aten.add.Scalar")
def add(at: Importer, x: Any, y: Any, alpha: float = 1) -> Any:
    """x + alpha * y."""
    if alpha == 1 or is_number(y):
        return binary(at, Add, x, alpha * y if is_number(y) else y)
    (first, second, scale), lead = alongside(at, _widened(at, x), _widened(at, y), alpha)
    return with_dtype(lead, second.map(MulAdd(out=at.dtype), scale, first, name=at.name()), at.dtype)


@lowers("aten.sub.Tensor", "aten.sub.Scalar")
def subtract(at: Importer, x: Any, y: Any, alpha: float = 1) -> Any:
    """x - alpha * y."""
    return binary(at, Sub, x, y) if alpha == 1 else add(at, x, y, -alpha)


@lowers("aten.mul.Tensor", "aten.mul.Scalar")
def multiply(at: Importer, x: Any, y: Any) -> Any:
    """x * y, of truths both."""
    note_width(at)
    return choose(at, x, y, x, BOOL) if at.dtype is BOOL else binary(at, Mul, x, y)


def note_width(at: Importer) -> None:
    """Tell the user that torch has more bits for a product of integers."""
    if at.meta.dtype == "int64":
        at.notes["integers have 32 bits here: a product that needs more is not that of torch"] = None


@lowers("aten.clone.default", "aten.alias.default")
def same(at: Importer, x: Any) -> Any:
    """The value itself: streams have no strides."""
    return x


def applied(at: Importer, x: Any, *links: Link) -> Value:
    """Functions of one operand, and of a number, one behind the other: in FP32, and rounded behind the last one."""
    value = at.tiles(_widened(at, x) if at.dtype.is_float else x)
    stream = value.stream
    for place, link in enumerate(links, 1 - len(links)):
        function, *numbers = link if isinstance(link, tuple) else (link,)
        made = function(out=FP32 if place else at.dtype)
        operands = [constant(at, each, stream) for each in numbers]
        stream = stream.map(made, *operands, name=at.name(made.name if place else ""))
    return with_dtype(value, stream, at.dtype)


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


def binary(at: Importer, function: Function, x: Any, y: Any) -> Value:
    """A function of x and y, which is told the format of its result; truths count as 0 and 1 beside others."""
    x, y = numbers_of(at, (x, y))
    if at.dtype is not BOOL:
        x, y = _widened(at, x), _widened(at, y)
    if is_number(y) and function is Mul:
        return applied(at, x, partial(Scale, y if at.dtype in INTEGERS else float(y)))
    streams, lead = alongside(at, x, y)
    kinds = {*map(kept, streams)}
    if kinds != {BOOL}:
        streams = [cast(at, each, BF16) if kept(each) is BOOL else each for each in streams]
    if INT32 in kinds and kinds & {BF16, FP32}:
        streams = [cast(at, each, FP32) if kept(each) is INT32 else each for each in streams]
    return with_dtype(lead, streams[0].map(function(at.dtype), streams[1], name=at.name()), at.dtype)


def _widened(at: Importer, given: Any) -> Any:
    """``given`` in a format that goes with that of the result, if it has integers or truths."""
    own = given.dtype if isinstance(given, Value) else isinstance(given, Stored) and STREAMS.get(given.data.dtype.name)
    if own not in (INT32, BOOL) or own is at.dtype:
        return given
    if isinstance(given, Stored) and given.is_constant:
        return given.formed(str(at.dtype), lambda data: data.astype(at.dtype.numpy), given.dims)
    value, wide = at.tiles(given), INT32 if at.dtype is INT32 else FP32 if own is INT32 else BF16
    return with_dtype(value, cast(at, value.stream, wide), wide)


def of_two(function: Function) -> Callable[..., Value]:
    """The lowering that is ``function`` of x and y."""
    return lambda at, x, y: binary(at, function, x, y)


declare("x / y.", of_two(Div), "aten.div.Tensor", "aten.div.Scalar")
declare("The larger one of x and y.", of_two(Max), "aten.maximum.default")
declare("The smaller one of x and y.", of_two(Min), "aten.minimum.default")


def choose(at: Importer, condition: Any, x: Any, y: Any, dtype: DType) -> Value:
    """``x`` where ``condition`` is true, else ``y``, in the format ``dtype``."""
    (chooses, *streams), lead = alongside(at, condition, x, y, dtype=dtype)
    wide = FP32 if FP32 in map(kept, streams) else dtype
    first, second = (cast(at, each, wide) for each in streams)
    return with_dtype(lead, cast(at, chooses.map(Where(), first, second, name=at.name("chosen")), dtype), dtype)


def kept(stream: Stream) -> DType:
    """The format of the tiles of ``stream``."""
    return stream.element.tiles[0].dtype


def cast(at: Importer, stream: Stream, dtype: DType) -> Stream:
    """``stream`` in the format ``dtype``."""
    return stream if kept(stream) is dtype else stream.map(Cast(dtype), name=at.name("cast"))


def alongside(at: Importer, *given: Any, dtype: DType = FP32) -> tuple[list[Stream], Value]:
    """The streams of tensors and numbers, the latter in ``dtype``, in one layout, and the value that has it.

    It is that of the tensor with most axes, repeated to what all have together. Parameters are read as it comes.
    """
    operands = numbers_of(at, given)
    tensors = [each for each in operands if not is_number(each)]
    most = max(tensors, key=lambda each: (_axes(each), not is_parameter(each)))
    lead = at.tiles(spread(at, most, np.broadcast_shapes(*(sizes(each.dims) for each in tensors))))
    others = [
        each if is_parameter(each) or (isinstance(each, Stored) and _axes(each) < _axes(most)) else at.tiles(each)
        for each in tensors
        if each is not most
    ]
    if any(_is_unlike(*pair) for each in others for pair in _aligned(lead.dims, each.dims)):
        lead, others = plain(at, lead), [plain(at, each) if isinstance(each, Value) else each for each in others]
    others = [renamed(at, each, lead.dims) for each in others]
    if not all(_is_as_ragged(at, each, lead) for each in others):
        lead, others = at.value(lead), [at.value(each) if isinstance(each, Value) else each for each in others]
    if lead.layout.columns is not None:
        axis = lead.layout.columns.axis
        columns = [lead.layout.columns, *(each.layout.columns for each in others if isinstance(each, Value))]
        widest = max(each.count for each in columns if each is not None and each.axis == axis)
        lead = at.joiner.columns(lead, widest, "operands have tiles of one size")
        if any(map(is_parameter, others)):
            lead = at.joiner.beside(lead, axis, "a parameter has an axis in rows or in columns")
    dtype, followers = kept(lead.stream) if kept(lead.stream) in INTEGERS else dtype, iter(others)

    def stream(each: Any) -> Stream:
        if is_number(each):
            return constant(at, each, lead.stream, dtype)
        return lead.stream if each is most else _following(at, lead, next(followers))

    return [stream(each) for each in operands], lead


def _is_as_ragged(at: Importer, other: Any, lead: Value) -> bool:
    """Whether ``other``, which has axes of ``lead``, has as much of each in its last tile."""
    if isinstance(other, Stored):
        return at.sources.lies_in(other, restricted(lead.layout, other.dims))
    return all(lead.layout.reach(axis) == other.layout.reach(axis) for axis in chain(*other.dims))


def _following(at: Importer, lead: Value, other: Any) -> Stream:
    """``other``, which has axes of ``lead``, as that one comes."""
    rows = [] if isinstance(other, Stored) or other.layout.rows is None else [(other.layout.rows.axis,)]
    wanted = restricted(lead.layout, (*other.dims, *rows))  # rows of several texts are no dimension
    return at.in_layout(other, wanted, "operands come in one order").stream


def renamed(at: Importer, given: Any, dims: Dims) -> Any:
    """``given`` with the axes of ``dims``, which are aligned at the last dimension, where it has any."""
    aligned, own = _aligned(dims, given.dims), sizes(given.dims)
    if any(_is_unlike(*each) for each in aligned):
        if own == sizes(dims):
            raise Unsupported(f"two tensors {list(own)}, of which one has a dimension that was made of several")
        raise Unsupported(f"a tensor {list(own)} can not be repeated to {list(sizes(dims))}")
    new = tuple(mine if theirs else () for mine, theirs in aligned)
    if isinstance(given, Stored):
        return replace(given, dims=new)
    value = at.tiles(given)
    names = dict(zip(chain(*value.dims), chain(*new), strict=True))
    return replace(value, dims=new, layout=value.layout.renamed(names))


def _aligned(lead: Dims, dims: Dims) -> list[tuple[tuple[TensorAxis, ...], tuple[TensorAxis, ...]]]:
    """The axes of ``lead`` beside each of ``dims``, from the last dimension on."""
    padded = ((),) * max(0, len(dims) - len(lead)) + lead
    return [*zip(padded[len(padded) - len(dims) :], dims, strict=True)]


def _is_unlike(mine: tuple[TensorAxis, ...], theirs: tuple[TensorAxis, ...]) -> bool:
    """Whether one dimension has other axes than the other one, which is not repeated along it."""
    return bool(theirs) and [each.extent for each in mine] != [each.extent for each in theirs]


def restricted(layout: TileLayout, dims: Dims) -> TileLayout:
    """``layout`` with tiles of what ``dims`` has, in all loops."""
    has = {axis for axes in dims for axis in axes}

    def own(part: AxisPart | None) -> AxisPart | None:
        return part if part is not None and part.axis in has else None

    return TileLayout(layout.loops, own(layout.rows), own(layout.columns))


def _axes(given: Any) -> int:
    return sum(map(len, given.dims))
