"""Comparisons, choices, truth of single scalars, and other formats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from step import BF16, BOOL, FP32, INT32, DType
from step.functions import Compare, Round
from step_torch.importing import Importer, with_dtype
from step_torch.layouts import Value, sizes
from step_torch.lowerings.elementwise import binary, cast, choose, is_number, kept, numbers_of
from step_torch.registry import declare, lowers
from step_torch.sources import Stored, supported

RELATIONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _comparison(relation: str) -> Callable[..., Value]:
    return lambda at, x, y: binary(at, lambda _: Compare(relation), x, y)


for _name, _relation in RELATIONS.items():
    declare(f"Whether x {_relation} y.", _comparison(_relation), f"aten.{_name}.Tensor", f"aten.{_name}.Scalar")


declare("x and y, of truths.", lambda at, x, y: choose(at, x, y, x, _of_truths(at)), "aten.bitwise_and.Tensor")
declare("x or y, of truths.", lambda at, x, y: choose(at, x, x, y, _of_truths(at)), "aten.bitwise_or.Tensor")
declare("Whether x is not true.", lambda at, x: choose(at, x, False, True, _of_truths(at)), "aten.bitwise_not.default")


@lowers("aten.bitwise_xor.Tensor")
def unlike(at: Importer, x: Any, y: Any) -> Value:
    """x or y, but not both, of truths."""
    _of_truths(at)
    return binary(at, lambda _: Compare("!="), x, y)


def _of_truths(at: Importer) -> DType:
    supported(at.dtype is BOOL, f"it goes over the bits of {at.meta.dtype}; those of bool have a lowering")
    return BOOL


@lowers("aten.where.self")
def where(at: Importer, condition: Any, x: Any, y: Any) -> Any:
    """x where a condition is true, else y."""
    known, *_ = numbers_of(at, (condition, x, y))
    if is_number(known):
        chosen = x if known else y
        if not is_number(chosen) and sizes(chosen.dims) == at.meta.shape:
            return chosen
        condition = at.value(condition)
    return choose(at, condition, x, y, at.dtype)


@lowers("aten._to_copy.default")
def to(at: Importer, x: Any) -> Any:
    """Another format; one that is wider holds the same numbers, and costs nothing."""
    if at.dtype is BOOL:
        return binary(at, lambda _: Compare("!="), x, 0)
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
