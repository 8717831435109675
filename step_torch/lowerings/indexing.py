"""Choices that data decides: rows and scalars by numbers, others in their place, and sorted rows."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from step import INT32
from step.functions import Add, Compare, Where
from step_torch import numbered
from step_torch.importing import Importer
from step_torch.layouts import Value, sizes
from step_torch.lowerings.elementwise import constant
from step_torch.lowerings.pieces import chosen
from step_torch.lowerings.rows import along
from step_torch.lowerings.shapes import permute
from step_torch.registry import lowers
from step_torch.sources import Stored, is_parameter, supported
from step_torch.views import in_shape


@lowers("aten.index_select.default")
def index_select(at: Importer, x: Any, dim: int, index: Any) -> Any:
    """Numbers of a dimension."""
    dim, extent = dim % len(x.dims), sizes(x.dims)[dim]
    if isinstance(index, Stored) and index.is_constant:
        return chosen(at, x, dim, [int(each) % extent for each in index.data.ravel()])
    order = [dim, *(each for each in range(len(x.dims)) if each != dim)]
    back = [*range(1, dim + 1), 0, *range(dim + 1, len(x.dims))]
    made = numbered.rows(at, permute(at, x, order), in_shape(at, index, (prod(sizes(index.dims)),)))
    return permute(at, made, back)


@lowers("aten.index.Tensor")
def index(at: Importer, x: Any, indices: list[Any]) -> Any:
    """Numbers of a dimension, which may have several dimensions themselves, or known ones of neighbours."""
    places = [dim for dim, each in enumerate(indices) if each is not None]
    if is_parameter(x) and all(getattr(indices[each], "is_constant", False) for each in places):
        numbers = tuple(slice(None) if each is None else each.data for each in indices)
        return x.formed(at.node.name, lambda data: data[numbers], at.axes(at.name(), at.meta.shape))
    first, many, shape = places[0], len(places), sizes(x.dims)
    if many > 1:
        known = all(isinstance(each, Stored) and each.is_constant for each in indices[first : first + many])
        supported(known, f"numbers of {many} dimensions at once; of one, or constants for neighbours have a lowering")
        of = shape[first : first + many]
        numbers = np.broadcast_arrays(*(each.data.astype(int) for each in indices[first : first + many]))
        x = in_shape(at, x, (*shape[:first], prod(of), *shape[first + many :]))
        made = chosen(at, x, first, np.ravel_multi_index(numbers, of, "wrap").ravel().tolist())
    else:
        made = index_select(at, x, first, _from_begin(at, indices[first], shape[first]))
    return in_shape(at, made, at.meta.shape)


@lowers("aten.gather.default")
def gather(at: Importer, x: Any, dim: int, index: Any) -> Value:
    """Scalars by numbers of a dimension, which may be of fewer rows than there are."""
    for each, extent in enumerate(sizes(index.dims)):
        x = x if each == dim % len(x.dims) else chosen(at, x, each, range(extent))
    value, back = along(at, x, dim)
    return back(numbered.gathered(at, value, along(at, index, dim)[0]))


@lowers("aten.scatter.src", "aten.scatter.value", "aten.scatter_add.default")
def scatter(at: Importer, x: Any, dim: int, index: Any, source: Any) -> Value:
    """Scalars at numbers of a dimension instead of those that are there, or added to them."""
    value, back = along(at, x, dim)
    if not isinstance(source, int | float):  # of which as much counts as there are numbers
        for each, extent in enumerate(sizes(index.dims)):
            source = chosen(at, source, each, range(extent))
    given = source if isinstance(source, int | float) else along(at, source, dim)[0]
    return back(numbered.scattered(at, value, along(at, index, dim)[0], given, adds="add" in at.node.op))


@lowers("aten.index_put.default")
def index_put(at: Importer, x: Any, indices: list[Any], source: Any, accumulate: bool = False) -> Value:
    """Rows at numbers of a dimension instead of those that are there, or added to them."""
    places = [dim for dim, each in enumerate(indices) if each is not None]
    supported(len(places) == 1, f"numbers of {len(places)} dimensions at once; of one have a lowering")
    (dim,) = places
    value, back = along(at, x, dim)
    numbers = at.value(_from_begin(at, indices[dim], sizes(x.dims)[dim]))
    return back(numbered.scattered(at, value, numbers, along(at, source, dim)[0], adds=accumulate))


def _from_begin(at: Importer, numbers: Any, extent: int) -> Any:
    """Numbers of a dimension, of which those below 0 count from its end."""
    if isinstance(numbers, Stored) and numbers.is_constant:
        return numbers.formed(f"of_{extent}", lambda data: data % extent, numbers.dims)
    value = at.value(numbers)
    whole, zero = (constant(at, each, value.stream, INT32) for each in (extent, 0))
    is_behind = value.stream.map(Compare("<"), zero, name=at.name("is_behind"))
    before = value.stream.map(Add(), whole, name=at.name("before"))
    return replace(value, stream=is_behind.map(Where(), before, value.stream, name=at.name("from_begin")))


@lowers("aten.sort.default")
def sort(at: Importer, x: Any, dim: int = -1, descending: bool = False) -> tuple[Value | None, ...]:
    """A dimension in order, and the places that its scalars come from."""
    return in_order(at, x, dim, sizes(x.dims)[dim] if x.dims else 1, descending)


def in_order(at: Importer, x: Any, dim: int, count: int, largest: bool) -> tuple[Value | None, ...]:
    """The first ``count`` of a dimension in order, and the places that they come from."""
    value, back = along(at, x, dim)
    made = numbered.Ordered(value, count, largest)
    return tuple(back(made.result(at, columns=bool(n))) if at.is_read(n) else None for n in range(2))
