"""Columns of a value in any order, each as it is or negated: they stay a choice until somebody reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from step import BF16
from step.functions import Matmul, RotateHalf, Scale
from step_torch.layouts import AxisPart, Dims, TensorAxis, Value, sizes
from step_torch.pieces import kept, merged, picked, with_dim
from step_torch.ragged import exact
from step_torch.sources import Stored, supported
from step_torch.views import in_shape

if TYPE_CHECKING:
    from step_torch.importing import Importer


@dataclass(frozen=True)
class ColumnChoice:
    """Columns ``order`` of ``of``, which may have several dimensions; ``~c`` is column c negated, and `none` zeros."""

    of: Value | Stored
    order: np.ndarray

    @property
    def axis(self) -> TensorAxis:
        """The columns that there are."""
        return self.of.dims[-1][0]

    @property
    def none(self) -> int:
        """The number of a column that there is not."""
        return self.axis.extent

    @property
    def outer(self) -> int:
        """How many dimensions come before those of the order."""
        return len(self.of.dims) - 1

    @property
    def dims(self) -> Dims:
        """The dimensions of the value but for its last one, and those of the order."""
        own = [TensorAxis(f"{self.axis.name}_{at}", extent) for at, extent in enumerate(self.order.shape)]
        return (*self.of.dims[:-1], *((each,) if each.extent > 1 else () for each in own))

    def changed(self, change: Callable[[np.ndarray], np.ndarray]) -> ColumnChoice:
        """The order that ``change`` makes of this one."""
        return replace(self, order=change(self.order))

    def in_shape(self, at: Importer, shape: tuple[int, ...]) -> Any:
        """Other dimensions of the order, or of what comes before."""
        for place in range(len(shape) + 1):
            if prod(shape[:place]) == prod(sizes(self.of.dims[:-1])) and prod(shape[place:]) == self.order.size:
                of = self.of if place == self.outer else in_shape(at, self.of, (*shape[:place], self.axis.extent))
                return ColumnChoice(of, self.order.reshape(shape[place:]))
        return in_shape(at, self.value(at), shape)

    def value(self, at: Importer) -> Value:
        """The columns as a value: their blocks, which any format has, or a product of one term each, which is exact."""
        order, shape, of = self.order.ravel(), sizes(self.dims), _columns_exact(at, self.of)
        if of.stream.element.tiles[0].dtype is BF16 or self._is_turned:
            value = self._in_tile(at, of, order)
        elif order.max() < 0:
            value = self.changed(np.invert).value(at)
            stream = value.stream.map(Scale(-1, out=value.stream.element.tiles[0].dtype), name=at.name("negated"))
            value = replace(value, stream=stream)
        else:
            is_plain = order.min() >= 0 and order.max() < self.none
            supported(is_plain, "columns of float32 that change signs, or zeros beside")
            is_range = np.array_equal(order, range(order[0], order[0] + order.size))
            value = (kept if is_range else picked)(at, of, -1, order.tolist())
        return value if sizes(value.dims) == shape else in_shape(at, value, shape)

    @property
    def _is_turned(self) -> bool:
        half = self.axis.extent // 2
        return np.array_equal(self.order, [*~np.arange(half, 2 * half), *range(half)])

    def _in_tile(self, at: Importer, of: Value, order: np.ndarray) -> Value:
        """Halves that are turned, as rotary embeddings do it, have a function; all else is a product."""
        value = at.whole_rows(of, "columns change places within a tile", ragged=True)
        axis = self.axis if order.size == self.axis.extent else at.axis("columns", order.size)
        if self._is_turned:
            stream = value.stream.map(RotateHalf(), name=at.name())
        else:
            matrix = np.zeros((self.none + 1, order.size))
            matrix[np.where(order < 0, ~order, order), range(order.size)] = np.where(order < 0, -1, 1)
            chosen = at.graph.constant(matrix[:-1], dtype=BF16, reference=value.stream, name=at.name("order"))
            stream = value.stream.map(Matmul(out=BF16), chosen, name=at.name())
        layout = replace(value.layout, columns=AxisPart(axis, axis.extent) if axis.extent > 1 else None)
        return replace(value, stream=stream, dims=with_dim(value.dims, -1, axis), layout=layout)


def columns_of(at: Importer, x: Any) -> ColumnChoice:
    """All columns of ``x`` in their order."""
    if isinstance(x, ColumnChoice):
        return x
    value = x if isinstance(x, Stored) else merged(at, _columns_exact(at, x), -1)
    return ColumnChoice(value, np.arange(sizes(value.dims)[-1]))


def _columns_exact(at: Importer, x: Any) -> Value:
    value = at.tiles(x)
    return exact(at, value, value.dims[-1])
