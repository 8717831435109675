"""Views: the same scalars with other dimensions.

They take any layout and give it with other axes. An axis that is split, into heads and their size, comes in blocks of
the inner one; axes that are merged in the last dimension become one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from step import BOOL
from step.functions import Where
from step_torch.columns import ColumnChoice
from step_torch.importing import Importer, with_dtype
from step_torch.layouts import AxisPart, Dims, TensorAxis, Value, sizes
from step_torch.pieces import chained, with_dim
from step_torch.registry import lowers
from step_torch.sources import Stored, is_parameter
from step_torch.views import in_shape


@dataclass(frozen=True)
class Cached:
    """The rows of a cache, an input, with ``new`` ones behind."""

    past: Stored
    new: Any

    @property
    def dims(self) -> Dims:
        """The dimensions of the cache, with more rows."""
        rows = sizes(self.past.dims)[-2] + sizes(self.new.dims)[-2]
        return with_dim(self.past.dims, -2, TensorAxis(f"{self.past.name}_rows", rows))

    def in_shape(self, at: Importer, shape: tuple[int, ...]) -> Any:
        """Other dimensions of all rows."""
        return in_shape(at, self.value(at), shape)

    def of_heads(self, at: Importer, numbers: list[int], new: Any) -> Cached:
        """A cache of its own with the heads ``numbers`` of this one, of which the ``new`` rows are."""
        dims = with_dim(self.past.dims, 1, at.axis("heads", len(numbers)))
        return Cached(self.past.formed(at.name("heads"), lambda data: data.take(numbers, 1), dims), new)

    def value(self, at: Importer) -> Value:
        """All of its rows; attention reads it in another way."""
        return chained(at, [at.value(self.past), at.value(self.new)], -2)


@lowers("aten.view.default", "aten.unsqueeze.default", "aten.squeeze.dims")
def view(at: Importer, x: Any, where: Any) -> Any:
    """Other dimensions, whose axes are split and merged, or which are one."""
    return in_shape(at, x, at.meta.shape)


@lowers("aten.permute.default")
def permute(at: Importer, x: Any, order: list[int]) -> Any:
    """Dimensions in another order: a parameter lies so in memory, an input only where all but those of one stay."""
    x, order = x if isinstance(x, Stored) else at.tiles(x), [each % len(x.dims) for each in order]
    dims = tuple(x.dims[each] for each in order)
    if is_parameter(x):
        return x.formed("of_" + "_".join(map(str, order)), lambda data: data.transpose(order), dims)
    lies_so = isinstance(x, Stored) and replace(x, dims=dims).axes == x.axes
    return replace(x if lies_so else at.tiles(x), dims=dims)


@lowers("aten.expand.default")
def expand(at: Importer, x: Any, shape: list[int]) -> Any:
    """Dimensions of one again and again."""
    return spread(at, x, at.meta.shape)


@lowers("aten.repeat.default")
def repeat(at: Importer, x: Any, repeats: list[int]) -> Any:
    """All of a tensor again and again along its dimensions."""
    if isinstance(x, Cached) and [*repeats[:1], *repeats[2:]] == [1, 1, 1]:
        return x.of_heads(at, [*range(sizes(x.dims)[1])] * repeats[1], repeat(at, x.new, repeats))
    shape = (1,) * (len(repeats) - len(x.dims)) + sizes(x.dims)
    apart = in_shape(at, x, tuple(each for extent in shape for each in (1, extent)))
    pairs = [*zip(repeats, shape, strict=True)]
    return in_shape(at, spread(at, apart, tuple(chain(*pairs))), tuple(count * extent for count, extent in pairs))


def spread(at: Importer, x: Any, shape: tuple[int, ...]) -> Any:
    """``x`` with dimensions of one repeated to ``shape``: more loops, and columns side by side."""
    old = (1,) * (len(shape) - len(x.dims)) + sizes(x.dims)
    if sizes(x.dims) == shape:
        return x
    if is_parameter(x):
        return x.formed(at.node.name, lambda data: np.broadcast_to(data, shape), at.axes(at.name(), shape))
    if isinstance(x, ColumnChoice) and len(x.dims) == len(shape) and sizes(x.dims)[: x.outer] == shape[: x.outer]:
        return x.changed(lambda order: np.broadcast_to(order, shape[x.outer :]))
    value = at.value(x)
    value = replace(value, dims=((),) * (len(shape) - len(value.dims)) + value.dims)
    for dim in (at for at, extent in enumerate(shape) if extent != old[at]):
        axis = at.axis("copies", shape[dim])
        value = at.joiner.facing(value, None, "columns are repeated") if dim == len(shape) - 1 else value
        if dim == len(shape) - 1:
            yes = at.graph.constant([[True] * axis.extent], dtype=BOOL, reference=value.stream, name=at.name("yes"))
            stream = yes.map(Where(), value.stream, value.stream, name=at.name("beside"))
            layout = replace(value.layout, columns=AxisPart(axis, axis.extent))
        else:
            stream = value.stream.repeat(axis.extent, name=at.name("again"))
            layout = replace(value.layout, loops=(*value.layout.loops, AxisPart(axis, axis.extent)))
        value = replace(with_dtype(value, stream, value.dtype), dims=with_dim(value.dims, dim, axis), layout=layout)
    return value
