"""Views: the same scalars with other dimensions.

They take any layout and give it with other axes. An axis that is split, into heads and their size, comes in blocks of
the inner one; axes that are merged in the last dimension become one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd, prod
from typing import Any

import numpy as np

from step import BF16, Stream
from step.functions import Matmul, RotateHalf
from step_torch.importing import Importer, with_dtype
from step_torch.layouts import AxisPart, Dims, TensorAxis, Value, sizes
from step_torch.registry import lowers
from step_torch.sources import Stored, Unsupported, supported


@dataclass(frozen=True)
class Piece:
    """Columns ``first`` to ``first + extent`` of a value, or the same negated."""

    of: Value
    first: int
    extent: int
    sign: int = 1

    @property
    def dims(self) -> Dims:
        """The dimensions of the value, with fewer columns."""
        return (*self.of.dims[:-1], (TensorAxis(f"{self.of.dims[-1][0].name}_{self.first}", self.extent),))

    def negated(self) -> Piece:
        """-x."""
        return replace(self, sign=-self.sign)

    def value(self, at: Importer) -> Value:
        """The columns as a value: a product with a matrix that chooses them, which is exact."""
        return joined(at, [self])


@dataclass(frozen=True)
class Cached:
    """The rows of a cache, an input, with ``new`` ones behind."""

    past: Stored
    new: Any

    @property
    def dims(self) -> Dims:
        """The dimensions of the cache."""
        return self.past.dims

    def in_shape(self, at: Importer, shape: tuple[int, ...]) -> Value:
        """Nobody sees a cache otherwise."""
        return self.value(at)

    def value(self, at: Importer) -> Value:
        """Only attention reads a cache."""
        raise Unsupported(f"a cache, {self.past.name!r}, is read by something else than attention")


@lowers("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default")
def view(at: Importer, x: Any, shape: list[int]) -> Any:
    """Other dimensions, whose axes are split and merged."""
    return in_shape(at, x, at.meta.shape)


def in_shape(at: Importer, x: Any, shape: tuple[int, ...]) -> Any:
    """``x`` with the dimensions ``shape``."""
    if hasattr(x, "in_shape"):
        return x.in_shape(at, shape)
    if isinstance(x, Stored) and x.is_parameter:
        return x.formed("_".join(map(str, shape)), lambda data: data.reshape(shape), at.axes(at.name(), shape))
    dims, splits = _regrouped(at, x.dims, shape)
    if isinstance(x, Stored) and len(dims[-1] if dims else ()) < 2 and sizes(dims[-1:]) == sizes(x.dims[-1:]):
        return replace(x, dims=dims)
    value = at.value(x)
    for axis, outer, inner in splits:
        value = _split(at, value, axis, outer, inner)
    return _merged(at, replace(value, dims=dims))


@lowers("aten.permute.default")
def permute(at: Importer, x: Any, order: list[int]) -> Any:
    """Dimensions in another order."""
    return _permuted(at, x, [each % len(x.dims) for each in order])


@lowers("aten.transpose.int")
def transpose(at: Importer, x: Any, first: int, second: int) -> Any:
    """Two dimensions in each other's place."""
    order = list(range(len(x.dims)))
    if order:
        order[first], order[second] = order[second], order[first]
    return _permuted(at, x, order)


@lowers("aten.unsqueeze.default")
def unsqueeze(at: Importer, x: Any, where: int) -> Any:
    """One more dimension, of one."""
    dims = list(x.dims)
    dims.insert(where if where >= 0 else len(dims) + 1 + where, ())
    return _over(x, tuple(dims), at)


@lowers("aten.squeeze.dim", "aten.squeeze.dims")
def squeeze(at: Importer, x: Any, where: int | list[int]) -> Any:
    """One dimension of one less."""
    gone = {each % len(x.dims) for each in (where if isinstance(where, list) else [where])}
    return _over(x, tuple(each for at, each in enumerate(x.dims) if at not in gone or each), at)


@lowers("aten.expand.default")
def expand(at: Importer, x: Any, shape: list[int], *, implicit: bool = False) -> Any:
    """Nothing, where no dimension grows."""
    supported(sizes(x.dims) == at.meta.shape, f"a tensor {list(sizes(x.dims))} is repeated to {list(at.meta.shape)}")
    return x


@lowers("aten.slice.Tensor")
def cut(at: Importer, x: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    """Some columns; all of any other dimension."""
    extent = sizes(x.dims)[dim]
    if isinstance(x, Cached):
        x.value(at)
    first, last, _ = slice(start, end, step).indices(extent)
    if (first, last, step) == (0, extent, 1):
        return x
    supported(dim % len(x.dims) == len(x.dims) - 1 and step == 1, "only columns can be cut out")
    return x.cut(first, last - first) if hasattr(x, "cut") else Piece(at.value(x), first, last - first)


@lowers("aten.split.Tensor", "aten.split_with_sizes.default")
def split(at: Importer, x: Any, size: int | list[int], dim: int = 0) -> tuple[Any, ...]:
    """All columns in pieces."""
    extent = sizes(x.dims)[dim]
    each = size if isinstance(size, list) else [size] * (extent // size)
    supported(sum(each) == extent, f"pieces of {size} do not divide {extent}")
    ends = np.cumsum(each)
    return tuple(cut(at, x, dim, int(end) - width, int(end)) for end, width in zip(ends, each, strict=True))


@lowers("aten.cat.default")
def concatenate(at: Importer, parts: list[Any], dim: int = 0) -> Any:
    """Pieces of one value side by side, or a cache with new rows."""
    if isinstance(parts[0], Stored) and not parts[0].is_parameter and len(parts) == 2:
        if dim % len(parts[0].dims) != len(parts[0].dims) - 2:
            raise Unsupported("a cache grows along its rows, the dimension before the last")
        return Cached(parts[0], parts[1])
    if not all(isinstance(each, Piece) for each in parts) or dim % len(parts[0].dims) != len(parts[0].dims) - 1:
        raise Unsupported("only pieces of one value, or a cache and its new rows, can be put together")
    return joined(at, parts)


def joined(at: Importer, pieces: list[Piece]) -> Value:
    """``pieces`` of one value side by side."""
    supported(not any(each.of is not pieces[0].of for each in pieces), "pieces of several values are put together")
    value = at.whole_rows(pieces[0].of, "columns change places within a tile")
    width = sum(each.extent for each in pieces)
    order = [each.first + at for each in pieces for at in range(each.extent)]
    signs = [each.sign for each in pieces for _ in range(each.extent)]
    stream = _in_order(at, value.stream, order, signs)
    old = value.dims[-1][0]
    axis = old if width == old.extent else TensorAxis(at.name("columns"), width)
    layout = replace(value.layout, columns=AxisPart(axis, width))
    return with_dtype(replace(value, dims=(*value.dims[:-1], (axis,)), layout=layout), stream, at.dtype)


def _in_order(at: Importer, x: Stream, order: list[int], signs: list[int]) -> Stream:
    """Column ``order[i]`` of tiles of ``x``, times ``signs[i]``, as column i.

    Halves that are turned, as rotary embeddings do it, have a function; all else is a product, exact as it sums one
    term.
    """
    columns = int(x.element.tiles[0].cols)
    half = columns // 2
    turned = [*range(half, columns), *range(half)]
    if order == turned and signs == [-1] * half + [1] * half:
        return x.map(RotateHalf(), name=at.name())
    supported(x.element.tiles[0].dtype is BF16, "columns of float32 change places; those of bfloat16 have a lowering")
    matrix = np.zeros((columns, len(order)))
    matrix[order, range(len(order))] = signs
    chosen = at.graph.constant(matrix, dtype=BF16, reference=x, name=at.name("order"))
    return x.map(Matmul(out=BF16), chosen, name=at.name())


def _over(x: Any, dims: Dims, at: Importer) -> Any:
    """``x`` with other dimensions of one among its own."""
    if isinstance(x, Stored) and x.is_parameter:
        return in_shape(at, x, sizes(dims))
    lies_so = isinstance(x, Stored) and dims[-1:] == x.dims[-1:]
    return replace(x if lies_so else at.value(x), dims=dims)


def _permuted(at: Importer, x: Any, order: list[int]) -> Any:
    """A parameter lies in memory as it is read; an input can not, unless only dimensions of one change places."""
    dims = tuple(x.dims[each] for each in order)
    if isinstance(x, Stored) and x.is_parameter:
        return x.formed("of_" + "_".join(map(str, order)), lambda data: data.transpose(order), dims)
    lies_so = isinstance(x, Stored) and replace(x, dims=dims).axes == x.axes
    return replace(x if lies_so else at.value(x), dims=dims)


def _regrouped(
    at: Importer, dims: Dims, shape: tuple[int, ...]
) -> tuple[Dims, list[tuple[TensorAxis, TensorAxis, TensorAxis]]]:
    """The axes of ``dims`` grouped to ``shape``, and those that are split in two for that."""
    atoms = [axis for each in dims for axis in each]
    grouped, splits = list[tuple[TensorAxis, ...]](), list[tuple[TensorAxis, TensorAxis, TensorAxis]]()
    for extent in shape:
        group: list[TensorAxis] = []
        while (have := prod(each.extent for each in group)) < extent:
            supported(atoms, f"a tensor {list(sizes(dims))} can not be seen as {list(shape)}")
            axis, rest = atoms.pop(0), extent // have
            if axis.extent > rest:
                if axis.extent % rest:
                    raise Unsupported(
                        f"a dimension of {axis.extent} is split into {rest} parts, which do not divide it"
                    )
                name = at.name(axis.name)
                outer, inner = TensorAxis(f"{name}_outer", rest), TensorAxis(f"{name}_inner", axis.extent // rest)
                splits.append((axis, outer, inner))
                atoms.insert(0, inner)
                axis = outer
            group.append(axis)
        supported(have == extent, f"a tensor {list(sizes(dims))} can not be seen as {list(shape)}")
        grouped.append(tuple(group))
    return tuple(grouped), splits


def _split(at: Importer, value: Value, axis: TensorAxis, outer: TensorAxis, inner: TensorAxis) -> Value:
    """``value`` with the two axes in the place of the one."""
    columns, rows = value.layout.columns, value.layout.rows
    if columns is not None and columns.axis == axis and inner.extent != columns.count:
        value = at.joiner.columns(value, inner.extent, f"{outer.extent} heads are tiles of their own")
    if rows is not None and rows.axis == axis and inner.extent % rows.count:
        value = at.joiner.rows(value, gcd(inner.extent, rows.count), f"a dimension is split into {outer.extent} parts")

    def new(part: AxisPart) -> AxisPart:
        if part.axis != axis:
            return part
        if part.step >= inner.extent:
            return AxisPart(outer, part.count, part.step // inner.extent)
        if part.count * part.step > inner.extent:
            raise Unsupported(f"{part} goes across the parts that a dimension is split into")
        return AxisPart(inner, part.count, part.step)

    return replace(value, layout=value.layout.changed(new))


def _merged(at: Importer, value: Value) -> Value:
    """``value`` with one axis in the last dimension."""
    axes = value.dims[-1]
    if len(axes) < 2:
        return value
    axis, below, steps = TensorAxis(at.name("columns"), sizes([axes])[0]), 1, dict[TensorAxis, int]()
    for each in reversed(axes):
        steps[each] = below
        below *= each.extent

    def new(part: AxisPart) -> AxisPart:
        return AxisPart(axis, part.count, part.step * steps[part.axis]) if part.axis in steps else part

    return replace(value, dims=(*value.dims[:-1], (axis,)), layout=value.layout.changed(new))
