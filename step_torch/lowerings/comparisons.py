"""Comparisons, choices, truth of single scalars, and other formats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from step import BF16, BOOL, FP32, INT32, DType, Stream
from step.functions import Compare, Round, Where
from step_torch.importing import Importer, with_dtype
from step_torch.layouts import Value, sizes
from step_torch.lowerings.elementwise import alongside, cast, constant, is_number, kept, numbers_of
from step_torch.registry import declare, lowers
from step_torch.sources import Stored, supported

RELATIONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _comparison(relation: str) -> Callable[..., Value]:
    def lowering(at: Importer, x: Any, y: Any) -> Value:
        streams, lead = alongside(at, x, y)
        if {kept(each) for each in streams} != {BOOL}:
            streams = [cast(at, each, BF16) if kept(each) is BOOL else each for each in streams]
        return with_dtype(lead, streams[0].map(Compare(relation), streams[1], name=at.name()), BOOL)

    return lowering


for _name, _relation in RELATIONS.items():
    declare(f"Whether x {_relation} y.", _comparison(_relation), f"aten.{_name}.Tensor", f"aten.{_name}.Scalar")


LOGIC: dict[str, Callable[[Stream, Stream, str], Stream]] = {
    "and": lambda x, y, name: x.map(Where(), y, x, name=name),
    "or": lambda x, y, name: x.map(Where(), x, y, name=name),
    "xor": lambda x, y, name: x.map(Compare("!="), y, name=name),
}
"""What two truths make, called so."""


def _logic(made: Callable[[Stream, Stream, str], Stream]) -> Callable[..., Value]:
    def lowering(at: Importer, x: Any, y: Any) -> Value:
        _check_truth(at)
        (first, second), lead = alongside(at, truth(at, x), truth(at, y))
        return with_dtype(lead, made(first, second, at.name()), BOOL)

    return lowering


for _name, _made in LOGIC.items():
    declare(f"x {_name} y, of truths.", _logic(_made), f"aten.logical_{_name}.default", f"aten.bitwise_{_name}.Tensor")


@lowers("aten.logical_not.default", "aten.bitwise_not.default")
def negation(at: Importer, x: Any) -> Value:
    """Whether x is not true, or 0."""
    _check_truth(at)
    value = truth(at, x)
    no = constant(at, 0, value.stream, BOOL)
    return with_dtype(value, value.stream.map(Compare("=="), no, name=at.name()), BOOL)


def truth(at: Importer, x: Any) -> Value:
    """``x`` itself, if it is of BOOL, or where it is not 0."""
    value = at.tiles(x)
    if kept(value.stream) is BOOL:
        return value
    zero = constant(at, 0, value.stream)
    return with_dtype(value, value.stream.map(Compare("!="), zero, name=at.name("truth")), BOOL)


def _check_truth(at: Importer) -> None:
    supported(at.dtype is BOOL, f"it goes over the bits of {at.meta.dtype}; those of bool have a lowering")


@lowers("aten.isnan.default")
def is_nan(at: Importer, x: Any) -> Value:
    """Whether x is no number."""
    value = at.tiles(x)
    return with_dtype(value, value.stream.map(Compare("!="), value.stream, name=at.name()), BOOL)


@lowers("aten.where.self", "aten.where.ScalarSelf", "aten.where.ScalarOther", "aten.where.Scalar")
def where(at: Importer, condition: Any, x: Any, y: Any) -> Any:
    """x where a condition is true, else y."""
    known, *_ = numbers_of(at, (condition, x, y))
    if is_number(known):
        chosen = x if known else y
        if not is_number(chosen) and sizes(chosen.dims) == at.meta.shape:
            return chosen
        condition = at.value(condition)
    return choose(at, condition, x, y, at.dtype)


def choose(at: Importer, condition: Any, x: Any, y: Any, dtype: DType) -> Value:
    """``x`` where ``condition`` is true, else ``y``, in the format ``dtype``."""
    (chooses, *streams), lead = alongside(at, condition, x, y, dtype=dtype)
    wide = FP32 if FP32 in map(kept, streams) else dtype
    first, second = (cast(at, each, wide) for each in streams)
    made = chooses.map(Where(), first, second, name=at.name("chosen"))
    return with_dtype(lead, cast(at, made, dtype), dtype)


@lowers("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def masked_fill(at: Importer, x: Any, mask: Any, number: Any) -> Value:
    """x, but a number where a mask is true."""
    return where(at, mask, number, x)


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
    if at.dtype is BOOL:
        return truth(at, x)
    if isinstance(x, Stored) and x.data.dtype == BF16.numpy and at.dtype.is_float:
        return x
    value = at.tiles(x)
    stream, have = value.stream, kept(value.stream)
    if have is BOOL:
        stream = cast(at, stream, BF16)
    if not at.dtype.is_float and have is not at.dtype:
        stream = cast(at, stream.map(Round(direction="trunc"), name=at.name("whole")), at.dtype)
    elif at.dtype.is_float:
        stream = at.rounded(cast(at, stream, FP32) if have is INT32 else stream)
    return with_dtype(value, stream, at.dtype)
