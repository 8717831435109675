"""Selectors from input data. This is the one place that says which spellings there are:

* target indices: an integer per selector, ``[*dims]``, or several, ``[*dims, k]``, also as lists of different lengths;
  an empty list selects nothing, and none may be there twice
* multi-hot rows: booleans ``[*dims, targets]``
* ``masks(values)`` with integers ``[*dims]`` in which bit i stands for target i
* a list of tokens, whose values are masks

A list, a tuple and an array of the same content mean the same. Rows of integers that are all 0 or 1, one per target,
could be indices or multi-hot rows: they are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from step.errors import InputError
from step.language.types import Selector
from step.programs.data.given import Masks, shown
from step.programs.data.scalars import place

Entry = tuple[tuple[int, ...], Any]
"""A value of a stream, behind its position in the data."""


def bind_selectors(entries: Sequence[Entry], selector: Selector, name: str) -> list[int]:
    """The masks that ``entries`` stand for; raises `InputError`."""
    if entries and all(_could_be_multi_hot(value, selector.targets) for _, value in entries):
        count = selector.targets
        raise InputError(
            f"input {name!r} has rows of {count} integers, all of them 0 or 1, which could be target indices or "
            f"multi-hot rows; give booleans: array.astype(bool) if they are multi-hot rows, "
            f"(array[..., None] == np.arange({count})).any(-2) if they are target indices"
        )
    return [_mask(value, selector, name, path) for path, value in entries]


def _mask(value: Any, selector: Selector, name: str, path: tuple[int, ...]) -> int:
    value = _scalar(value)
    if isinstance(value, Masks):
        return _ready_made(value.content, selector, name, path)
    parts = [value] if _is_integer(value) else _parts(value)
    if parts is not None and all(map(_is_integer, parts)):
        return _of_targets(parts, selector, name, path)
    if parts is not None and all(isinstance(each, bool | np.bool_) for each in parts):
        if len(parts) != selector.targets:
            raise InputError(f"{place(name, path)} has {len(parts)} booleans, but there are {selector.targets} targets")
        return sum(1 << target for target, hot in enumerate(parts) if hot)
    raise InputError(
        f"{place(name, path)} is {shown(value)}; a selector is a target index, a list of target indices, "
        f"or {selector.targets} booleans (and masks(...) has integers with a bit per target)"
    )


def _of_targets(targets: Sequence[int], selector: Selector, name: str, path: tuple[int, ...]) -> int:
    mask, count = 0, selector.targets
    for each in map(int, targets):
        if not 0 <= each < count:
            raise InputError(f"{place(name, path)} selects target {each}, but its targets are 0 to {count - 1}")
        if mask >> each & 1:
            raise InputError(f"{place(name, path)} selects target {each} twice; a selector has each target once")
        mask |= 1 << each
    return mask


def _ready_made(value: Any, selector: Selector, name: str, path: tuple[int, ...]) -> int:
    value = _scalar(value)
    if not _is_integer(value) or not 0 <= value < 1 << selector.targets:
        raise InputError(
            f"{place(name, path)} is {shown(value)}; masks over {selector.targets} targets are integers "
            f"0 to {(1 << selector.targets) - 1}"
        )
    return int(value)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _parts(value: Any) -> list[Any] | None:
    """The entries of a sequence."""
    sequence = isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim == 1)
    return list(map(_scalar, value)) if sequence else None


def _scalar(value: Any) -> Any:
    """The entry of an array without dimensions."""
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


def _could_be_multi_hot(value: Any, targets: int) -> bool:
    parts = _parts(value)
    return parts is not None and len(parts) == targets and all(_is_integer(each) and each in (0, 1) for each in parts)
