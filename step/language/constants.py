"""Values that a program names itself: masks of selectors, and tiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from step.errors import TypeMismatch
from step.language import numerics
from step.language.dtypes import BOOL, OF_ML_DTYPES, DType
from step.language.operator import expect
from step.language.parameters import plain, shown
from step.language.types import Selector, Tile

Constant = int | tuple[tuple[float, ...], ...]
"""The mask of a selector, or the rows of a tile."""


def selector_mask(selector: Selector, chosen: int | Sequence[int]) -> int:
    """The mask of a target, or of several; raises `TypeMismatch` for those that the ``selector`` does not have, and for
    one that is there twice."""
    targets, mask = [chosen] if isinstance(chosen, int) else chosen, 0
    for each in targets:
        expect(0 <= each < selector.targets, f"{selector} has the targets 0 to {selector.targets - 1}, but no {each}")
        twice = f"{shown(list(targets))} selects target {each} twice; a selector has each target once"
        expect(not mask >> each & 1, twice)
        mask |= 1 << each
    return mask


def as_constant(element: Tile | Selector, value: Any) -> Constant:
    """The ``value`` as an operator keeps it; raises `TypeMismatch` unless it is one of ``element``."""
    if isinstance(element, Selector):
        mask = plain(value)
        if element.accepts(mask) and not isinstance(mask, bool):
            return mask
    elif element.is_static:
        rows = constant_rows(value, element.dtype)
        if (len(rows), len(rows[0])) == element.shape:
            return rows
    raise TypeMismatch(f"{shown(value)} is no {element}; it would be {_example(element)}")


def _example(element: Tile | Selector) -> str:
    """A constant of ``element``, as somebody would write it."""
    if isinstance(element, Selector):
        return f"a mask from 0 to {(1 << element.targets) - 1}"
    if not element.is_static:
        return "a tile of static size"
    rows, cols = element.shape
    return f"{rows} list{'s' if rows > 1 else ''} of {cols} number{'s' if cols > 1 else ''}"


def has_integer(tile: Tile | Selector, number: int) -> bool:
    """Whether integers of ``tile`` go as far as ``number``."""
    assert isinstance(tile, Tile)
    limits = np.iinfo(tile.dtype.numpy)
    return bool(limits.min <= number <= limits.max)


def constant_rows(value: Any, dtype: DType) -> tuple[tuple[float, ...], ...]:
    """The rows of a tile of ``dtype``, rounded to it; raises `TypeMismatch` for numbers that it does not have."""
    numbers = f"numbers that {dtype} has"
    if not dtype.is_float:
        least, most = (0, 1) if dtype is BOOL else (np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max)
        numbers = f"integers from {least} to {most}"

    def refused() -> TypeMismatch:
        return TypeMismatch(f"a constant of {dtype} must be {numbers}, not {shown(value)}")

    try:
        given = np.atleast_2d(np.asarray(value))
    except ValueError:  # rows of different lengths
        raise refused() from None
    kinds = "biu" if dtype is BOOL else "iuf"
    if given.ndim != 2 or not given.size or (given.dtype.kind not in kinds and given.dtype not in OF_ML_DTYPES):
        raise refused()
    with numerics.quiet():
        tile = given.astype(dtype.numpy)
    before, after = given.astype(np.float64), tile.astype(np.float64)
    lost = (np.isfinite(after) != np.isfinite(before)) | (np.isnan(after) != np.isnan(before))
    if lost.any() or not (dtype.is_float or (tile == given).all()):
        raise refused()
    exact = tile if dtype.is_float else tile.astype(int)
    return tuple(tuple(row) for row in exact.astype(np.float64 if dtype.is_float else int).tolist())
