"""Layouts: how the scalars of a tensor are spread over a stream of tiles.

A tensor has dimensions, each of which is an axis, or several where it was made of them (heads and their size). A stream
has loops, and its tiles rows and columns. Each of these is an `AxisPart`: it counts along it in steps. The parts
of an axis together count all of it, so a layout says for every tile which scalars it has. Where they count more, the
axis is ragged: its last tile has rows or columns that are none of the tensor, and that nobody may see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Literal

import numpy as np

from step import DType, Stream


@dataclass(frozen=True)
class TensorAxis:
    """So many indices, called ``name``; no two axes of a tensor have one name."""

    name: str
    extent: int


@dataclass(frozen=True)
class AxisPart:
    """The indices 0, ``step``, 2 ``step``, .. of ``axis``, ``count`` of them."""

    axis: TensorAxis
    count: int
    step: int = 1

    def __str__(self) -> str:
        return f"{self.count} of {self.axis.name}"


Side = Literal["row", "col"]

Dims = tuple[tuple[TensorAxis, ...], ...]
"""The axes of each dimension of a tensor; a dimension of one has none."""


@dataclass(frozen=True)
class TileLayout:
    """``loops`` of the stream, outermost first, and the ``rows`` and ``columns`` of a tile, None for a single one."""

    loops: tuple[AxisPart, ...] = ()
    rows: AxisPart | None = None
    columns: AxisPart | None = None

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of a tile."""
        return self.rows.count if self.rows else 1, self.columns.count if self.columns else 1

    @property
    def parts(self) -> tuple[AxisPart | None, ...]:
        """The loops, the rows and the columns."""
        return *self.loops, self.rows, self.columns

    @property
    def extents(self) -> tuple[int, ...]:
        """Extents of the loops."""
        return tuple(each.count for each in self.loops)

    @property
    def shape(self) -> tuple[tuple[AxisPart, ...], AxisPart | None, AxisPart | None]:
        """The layout without parts of one, which are there or not."""
        rows, columns = (each if each and each.count > 1 else None for each in (self.rows, self.columns))
        return tuple(each for each in self.loops if each.count > 1), rows, columns

    def side(self, axis: TensorAxis) -> tuple[Side | None, AxisPart]:
        """The side of a tile that counts along ``axis``, and how; None where no side does."""
        sides: tuple[tuple[Side, AxisPart | None], ...] = (("col", self.columns), ("row", self.rows))
        return next(((side, part) for side, part in sides if part and part.axis == axis), (None, AxisPart(axis, 1)))

    def with_side(self, side: Side, tile: AxisPart) -> TileLayout:
        """The layout with ``tile`` as that side of a tile."""
        return replace(self, rows=tile) if side == "row" else replace(self, columns=tile)

    def reach(self, axis: TensorAxis) -> int:
        """Indices of ``axis`` that are counted."""
        return max((part.count * part.step for part in self.parts if part and part.axis == axis), default=1)

    def firsts(self, axis: TensorAxis) -> np.ndarray:
        """The first index of ``axis`` in every tile, in all loops."""
        steps = [part.step if part.axis == axis else 0 for part in self.loops]
        return sum((step * each for step, each in zip(steps, np.indices(self.extents), strict=True)), np.zeros((), int))

    def renamed(self, names: dict[TensorAxis, TensorAxis]) -> TileLayout:
        """The same with other axes of the same extents."""
        return self.changed(lambda part: replace(part, axis=names.get(part.axis, part.axis)))

    def changed(self, new: Callable[[AxisPart], AxisPart]) -> TileLayout:
        """The layout with ``new(part)`` in the place of every part."""
        rows, columns = (each and new(each) for each in (self.rows, self.columns))
        return TileLayout(tuple(map(new, self.loops)), rows, columns)

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.loops))}] of tiles [{self.rows or 1}, {self.columns or 1}]"


@dataclass(frozen=True)
class Value:
    """A tensor of ``dims`` as a ``stream`` [rounds, loops..] of tiles in ``layout``.

    ``dtype`` is that of the tensor in torch. That of the stream may be narrower, where it holds the same numbers.
    """

    stream: Stream
    dims: Dims
    layout: TileLayout
    dtype: DType

    @property
    def ragged(self) -> list[TensorAxis]:
        """The axes of which the last tile has more than there is."""
        return [axis for axes in self.dims for axis in axes if self.layout.reach(axis) > axis.extent]


def whole(axis: TensorAxis | None) -> AxisPart | None:
    """All of an axis at once."""
    return None if axis is None else AxisPart(axis, axis.extent)


def blocks(axis: TensorAxis | None, size: int) -> tuple[tuple[AxisPart, ...], AxisPart | None]:
    """The loop over an axis in blocks of ``size``, of which the last one may have less, and a block."""
    if axis is None:
        return (), None
    count = -(-axis.extent // size)
    return ((AxisPart(axis, count, size),) if count > 1 else ()), AxisPart(axis, size)


def dividing(extent: int, most: int) -> int:
    """The largest number up to ``most`` that divides ``extent``; all of it where that is below half of ``most``."""
    found = next(each for each in range(min(most, extent), 0, -1) if extent % each == 0)
    return found if 2 * found > min(most, extent) else extent


def fitting(extent: int, most: int) -> int:
    """The size of blocks of ``extent``: a number near ``most`` that divides it, else one with the least to spare."""
    most = min(most, extent)
    near = (*range(most, most // 2, -1), *range(most + 1, 2 * most))
    return next((each for each in near if extent % each == 0), -(-extent // -(-extent // most)))


def sizes(dims: Sequence[Sequence[TensorAxis]]) -> tuple[int, ...]:
    """The extents of a tensor."""
    return tuple(prod(axis.extent for axis in each) for each in dims)
