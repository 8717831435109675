"""Functions of whole rows: means, sums, norms and softmax. They take tiles with all columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from step import FP32
from step.functions import Add, Div, Exp, Mul, MulAdd, RowMax, RowSum, Scale, Sub
from step_models.projection import standardized
from step_torch.importing import Importer, with_dtype
from step_torch.layouts import Value
from step_torch.lowerings.elementwise import together
from step_torch.registry import lowers
from step_torch.sources import Unsupported, supported


@lowers("aten.mean.dim")
def mean(at: Importer, x: Any, dims: list[int] | None, keep: bool = False, *, dtype: str | None = None) -> Value:
    """The mean of every row."""
    value = _rows(at, x, dims, keep)
    total = value.stream.map(RowSum(out=FP32), name=at.name("sum"))
    return _column(at, value, at.rounded(total.map(Scale(1 / value.layout.tile[1]), name=at.name())))


@lowers("aten.sum.dim_IntList")
def total(at: Importer, x: Any, dims: list[int] | None, keep: bool = False, *, dtype: str | None = None) -> Any:
    """The sum of every row."""
    value = _rows(at, x, dims, keep)
    return _column(at, value, value.stream.map(RowSum(out=at.dtype), name=at.name()))


@lowers("aten.softmax.int", "aten._softmax.default")
def softmax(at: Importer, x: Any, dim: int, dtype: str | bool | None = None) -> Value:
    """e^x over its sum, with the largest of the row subtracted."""
    value = _rows(at, x, [dim], keep=True)
    largest = value.stream.map(RowMax(), name=at.name("largest"))
    relative = value.stream.map(Sub(out=FP32), largest, name=at.name("relative"))
    weight = relative.map(Exp(), name=at.name("exponential"))
    whole = weight.map(RowSum(), name=at.name("sum"))
    return with_dtype(value, weight.map(Div(out=at.dtype), whole, name=at.name()), at.dtype)


@lowers("aten.layer_norm.default")
def layer_norm(
    at: Importer,
    x: Any,
    shape: list[int],
    weight: Any = None,
    bias: Any = None,
    epsilon: float = 1e-5,
    cudnn_enable: bool = True,
) -> Value:
    """(x - mean) / sqrt(variance + epsilon) * weight + bias, rounded once."""
    supported(len(shape) == 1, f"it goes along the last {len(shape)} dimensions; the last one alone has a lowering")
    value = _rows(at, x, [-1], keep=True)
    stream = standardized(at.graph, value.stream, epsilon, prefix=f"{at.node.name}_")
    parameters = [together(at, value, each)[1] for each in (weight, bias) if each is not None]
    if parameters:
        function = MulAdd if len(parameters) == 2 else Add if weight is None else Mul
        stream = stream.map(function(out=at.dtype), *parameters, name=at.name())
    return with_dtype(value, at.rounded(stream), at.dtype)


def _rows(at: Importer, x: Any, dims: list[int] | None, keep: bool) -> Value:
    _check_rows(x, dims, keep)
    return at.whole_rows(x, "a row is looked at as a whole")


def _check_rows(x: Any, dims: list[int] | None, keep: bool) -> None:
    if not dims or [each % len(x.dims) for each in dims] != [len(x.dims) - 1] or not keep:
        along = f"dimensions {dims}" if dims else "all dimensions"
        raise Unsupported(f"it goes along {along}; only the last one, kept, has a lowering")


def _column(at: Importer, value: Value, stream: Any) -> Value:
    """One column in the place of all."""
    return Value(stream, (*value.dims[:-1], ()), replace(value.layout, columns=None), at.dtype)
