"""Sums, products and functions of single scalars.

They take any layout, and give that of the operand with more axes. The other one is brought to it: repeated along loops
that it lacks, with as many columns in a tile. Parameters are read as they are wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from step import BF16, FP32, Stream
from step.functions import Add, Div, Exp, Gelu, Mul, Reciprocal, Rsqrt, Scale, Silu, Sub, Tanh
from step.language.function import MapFunction
from step_torch.importing import Importer, with_dtype
from step_torch.layouts import AxisPart, Dims, TileLayout, Value, sizes
from step_torch.pieces import plain
from step_torch.registry import lowers
from step_torch.sources import Stored, Unsupported, supported

Function = Callable[..., MapFunction]


@lowers("aten.add.Tensor")
def add(at: Importer, x: Any, y: Any, *, alpha: float = 1) -> Any:
    """x + y."""
    return _binary(at, Add, x, y) if alpha == 1 else _unlike("alpha", alpha)


@lowers("aten.sub.Tensor")
def subtract(at: Importer, x: Any, y: Any, *, alpha: float = 1) -> Any:
    """x - y."""
    return _binary(at, Sub, x, y) if alpha == 1 else _unlike("alpha", alpha)


@lowers("aten.mul.Tensor", "aten.mul.Scalar")
def multiply(at: Importer, x: Any, y: Any) -> Any:
    """x * y."""
    return _binary(at, Mul, x, y)


@lowers("aten.div.Tensor", "aten.div.Scalar")
def divide(at: Importer, x: Any, y: Any) -> Any:
    """x / y."""
    return _binary(at, Div, x, y)


@lowers("aten.pow.Tensor_Scalar")
def power(at: Importer, x: Any, exponent: float) -> Any:
    """x to a power of 2 or 3, rounded once."""
    supported(exponent in (2, 3), f"the exponent is {exponent}; 2 and 3 have a lowering")
    value = at.value(x)
    stream = value.stream
    for number in range(int(exponent) - 2):
        stream = stream.map(Mul(out=FP32), value.stream, name=at.name(f"power{number + 2}"))
    return with_dtype(value, stream.map(Mul(out=at.dtype), value.stream, name=at.name()), at.dtype)


@lowers("aten.neg.default")
def negate(at: Importer, x: Any) -> Any:
    """-x."""
    return x.negated() if hasattr(x, "negated") else _unary(at, x, Scale, -1.0)


@lowers("aten.rsqrt.default")
def reciprocal_root(at: Importer, x: Any) -> Any:
    """1 / sqrt(x)."""
    return _unary(at, x, Rsqrt)


@lowers("aten.reciprocal.default")
def reciprocal(at: Importer, x: Any) -> Any:
    """1 / x."""
    return _unary(at, x, Reciprocal)


@lowers("aten.exp.default")
def exponential(at: Importer, x: Any) -> Any:
    """e^x."""
    return _unary(at, x, Exp)


@lowers("aten.silu.default")
def silu(at: Importer, x: Any) -> Any:
    """x * sigmoid(x)."""
    return _unary(at, x, Silu)


@lowers("aten.tanh.default")
def tanh(at: Importer, x: Any) -> Any:
    """The hyperbolic tangent."""
    return _unary(at, x, Tanh)


@lowers("aten.gelu.default")
def gelu(at: Importer, x: Any, *, approximate: str = "none") -> Any:
    """x * Phi(x), with erf or with tanh."""
    return _unary(at, x, Gelu, approximate=approximate)


@lowers("aten._to_copy.default", "aten.to.dtype")
def to(
    at: Importer,
    x: Any,
    dtype: str | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
    *,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = None,
) -> Any:
    """Another format; one that is wider holds the same numbers, and costs nothing."""
    supported(at.dtype in (BF16, FP32), f"a cast to {at.meta.dtype}; those to bfloat16 and float32 have a lowering")
    if isinstance(x, Stored) and x.data.dtype == BF16.numpy:
        return x
    value = at.value(x)
    return with_dtype(value, at.rounded(value.stream), at.dtype)


@lowers("aten.clone.default", "aten.alias.default", "aten.detach.default", "aten.contiguous.default")
def same(at: Importer, x: Any, *, memory_format: Any = None) -> Any:
    """The value itself: streams have no strides."""
    return x


@lowers("aten._assert_tensor_metadata.default", "aten.sym_size.int", "aten._assert_scalar.default")
def nothing(
    at: Importer,
    x: Any,
    said: Any = None,
    stride: Any = None,
    dtype: Any = None,
    *,
    device: Any = None,
    layout: Any = None,
) -> tuple[()]:
    """Checks that torch makes of its own tensors."""
    return ()


def _unary(at: Importer, x: Any, function: Function, *parameters: Any, **options: Any) -> Value:
    value = at.value(x)
    made = function(*parameters, out=at.dtype, **options)
    return with_dtype(value, value.stream.map(made, name=at.name()), at.dtype)


def _binary(at: Importer, function: Function, x: Any, y: Any) -> Value:
    first_is_number, second_is_number = (isinstance(each, int | float) for each in (x, y))
    if second_is_number and function is Mul:
        return _unary(at, x, Scale, float(y))
    if first_is_number or second_is_number:
        lead, number = (at.value(x), y) if second_is_number else (at.value(y), x)
        constant = at.graph.constant(float(number), dtype=FP32, reference=lead.stream, name=at.name("constant"))
        first, second = (lead.stream, constant) if second_is_number else (constant, lead.stream)
    else:
        first, second, lead = together(at, x, y)
    return with_dtype(lead, first.map(function(out=at.dtype), second, name=at.name()), at.dtype)


def together(at: Importer, x: Any, y: Any) -> tuple[Stream, Stream, Value]:
    """The streams of ``x`` and ``y`` in one layout, and the one that has it."""
    if _axes(x) == _axes(y):
        x, y = (at.value(each) if isinstance(each, Stored) and not each.is_parameter else each for each in (x, y))
    swapped = _axes(y) > _axes(x) or (_axes(x) == _axes(y) and isinstance(x, Stored))
    lead, other = (y, x) if swapped else (x, y)
    first = at.value(lead)
    if isinstance(other, Stored):
        if [*map(len, first.dims[len(first.dims) - len(other.dims) :])] != [*map(len, other.dims)]:
            first = plain(at, first)
        follower: Any = replace(other, dims=_renamed_dims(first.dims, other.dims))
        wanted = restricted(first.layout, follower.dims)
        second = at.in_layout(follower, wanted, "an operand is read as the other one comes")
    else:
        first, follower = _alike(at, first, at.value(other))
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


def _unlike(what: str, value: object) -> Any:
    raise Unsupported(f"{what} is {value}, which has no lowering")
