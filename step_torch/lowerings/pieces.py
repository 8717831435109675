"""Static choices: some of a dimension, several tensors one behind the other, a dimension in another order, and borders.

Columns stay a choice until somebody reads them; blocks of other dimensions are dropped, gathered, or read from memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from step_torch.columns import ColumnChoice, columns_of
from step_torch.importing import Importer
from step_torch.layouts import sizes
from step_torch.lowerings.shapes import Cached
from step_torch.pieces import chained, kept, picked
from step_torch.registry import lowers
from step_torch.sources import Stored, is_parameter
from step_torch.views import in_shape


@lowers("aten.slice.Tensor")
def cut(at: Importer, x: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    """Some of a dimension; columns of BF16 by a product, where a NaN or infinity of a row makes others NaN."""
    return chosen(at, x, dim, range(*slice(start, end, step).indices(sizes(x.dims)[dim])))


@lowers("aten.select.int")
def select(at: Importer, x: Any, dim: int, index: int) -> Any:
    """One of a dimension, which is gone then."""
    dim, index = dim % len(x.dims), index % sizes(x.dims)[dim]
    return in_shape(at, chosen(at, x, dim, range(index, index + 1)), at.meta.shape)


@lowers("aten.split.Tensor", "aten.split_with_sizes.default")
def split(at: Importer, x: Any, size: int | list[int], dim: int = 0) -> tuple[Any, ...]:
    """All of a dimension in pieces."""
    extent = sizes(x.dims)[dim]
    ends = np.cumsum(size) if isinstance(size, list) else [*range(size, extent, size), extent]
    pieces = enumerate(zip([0, *ends], ends, strict=False))
    return tuple(cut(at, x, dim, int(first), int(end)) if at.is_read(n) else None for n, (first, end) in pieces)


@lowers("aten.flip.default")
def flip(at: Importer, x: Any, dims: list[int]) -> Any:
    """Dimensions from their end to their begin."""
    for dim in dims:
        x = chosen(at, x, dim, range(sizes(x.dims)[dim])[::-1])
    return x


@lowers("aten.cat.default")
def concatenate(at: Importer, parts: list[Any], dim: int = 0) -> Any:
    """Tensors one behind the other, but for those without scalars; a cache with new rows."""
    parts = [each for each in parts if each is not None and not (isinstance(each, Stored) and not each.data.size)]
    if len(parts) == 1:
        return parts[0]
    dim %= len(parts[0].dims)
    if all(isinstance(each, Stored) and each.is_constant for each in parts):
        return at.constant(np.concatenate([each.data for each in parts], dim))
    if len(parts) == 2 and isinstance(parts[0], Stored) and not parts[0].is_parameter and dim == len(parts[0].dims) - 2:
        return Cached(parts[0], parts[1])
    first, are_beside = parts[0], all(isinstance(each, ColumnChoice) and each.of is parts[0].of for each in parts)
    if are_beside and dim >= first.outer:
        return first.changed(lambda order: np.concatenate([each.order for each in parts], dim - first.outer))
    return chained(at, [at.value(each) for each in parts], dim)


@lowers("aten.constant_pad_nd.default")
def pad(at: Importer, x: Any, pad: list[int], value: float = 0) -> Any:
    """A border of equal scalars, or a part of a tensor."""
    if isinstance(x, Stored) and x.is_constant:
        x = at.value(x)
    for number, (before, behind) in enumerate(zip(pad[::2], pad[1::2], strict=True)):
        dim = len(x.dims) - 1 - number
        x = chosen(at, x, dim, range(max(0, -before), sizes(x.dims)[dim] - max(0, -behind)))
        before, behind, shape = max(0, before), max(0, behind), sizes(x.dims)
        if number == 0 and value == 0 and x.dims[-1] and before + behind:
            columns = columns_of(at, x)
            gaps = [(0, 0)] * (columns.order.ndim - 1) + [(before, behind)]
            x = replace(columns, order=np.pad(columns.order, gaps, constant_values=columns.none))
        elif before + behind:
            ends = (np.full((*shape[:dim], extent, *shape[dim + 1 :]), value) for extent in (before, behind))
            first, last = (at.constant(each, f"{number}_{place}") for each, place in zip(ends, (0, 2), strict=True))
            parts = ((first, before), (x, 1), (last, behind))
            x = chained(at, [at.value(each) for each, extent in parts if extent], dim)
    return x


def chosen(at: Importer, x: Any, dim: int, numbers: Sequence[int]) -> Any:
    """``numbers`` of dimension ``dim``."""
    dim %= len(x.dims)
    if [*numbers] == [*range(sizes(x.dims)[dim])]:
        return x
    if isinstance(x, Cached) and dim == 1:
        return x.of_heads(at, [*numbers], chosen(at, x.new, dim, numbers))
    if is_parameter(x):
        shape = sizes(x.dims)
        dims = at.axes(at.name(), (*shape[:dim], len(numbers), *shape[dim + 1 :]))
        return x.formed(f"{at.node.name}_{dim}_{numbers[0]}", lambda data: data.take(numbers, dim), dims)
    if dim < (x.outer if isinstance(x, ColumnChoice) else len(x.dims) - 1):
        choose = kept if [*numbers] == sorted({*numbers}) else picked
        return choose(at, at.tiles(x), dim, numbers)
    if isinstance(numbers, range) and numbers.step == 1 and hasattr(x, "cut"):
        return x.cut(numbers.start, len(numbers))
    columns = columns_of(at, x)
    return columns.changed(lambda order: order.take(numbers, dim - columns.outer))
