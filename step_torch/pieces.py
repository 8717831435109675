"""Static choices of blocks: some of an axis, those of several values one behind the other, and any in another order.

A block is what a tile has of the axis. Nothing is computed, so all formats keep their bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd, prod
from typing import TYPE_CHECKING

import numpy as np

from step import FP32, UINT32, Selector, Stream, Tile
from step.functions import Cast
from step.language.dims import dim as dim_of
from step_torch.layouts import AxisPart, Dims, TensorAxis, TileLayout, Value, sizes
from step_torch.loops import filtered, in_one_loop, looped
from step_torch.ragged import exact

if TYPE_CHECKING:
    from step_torch.importing import Importer

WHY = "blocks of an axis are chosen"


def merged(at: Importer, value: Value, dim: int) -> Value:
    """``value`` with one axis at most in dimension ``dim``."""
    axes = value.dims[dim]
    if len(axes) < 2:
        return value
    value = exact(at, value, axes)
    axis = at.axis(f"columns{dim % len(value.dims)}", sizes([axes])[0])
    steps = {each: prod(inner.extent for inner in axes[place + 1 :]) for place, each in enumerate(axes)}

    def new(part: AxisPart) -> AxisPart:
        return AxisPart(axis, part.count, part.step * steps[part.axis]) if part.axis in steps else part

    return replace(value, dims=with_dim(value.dims, dim, axis), layout=value.layout.changed(new))


def plain(at: Importer, value: Value) -> Value:
    """``value`` with one axis at most in every dimension."""
    for dim in range(len(value.dims)):
        value = merged(at, value, dim)
    return value


def with_dim(dims: Dims, dim: int, axis: TensorAxis) -> Dims:
    """``dims`` with ``axis`` in the place of dimension ``dim``; one of one index is none."""
    dim %= len(dims)
    return (*dims[:dim], (axis,) if axis.extent > 1 else (), *dims[dim + 1 :])


def in_blocks(at: Importer, value: Value, axis: TensorAxis, most: int) -> tuple[Value, int]:
    """``value`` with one loop at most over ``axis``, and the size of its blocks: the largest that divides ``most``."""
    if value.layout.columns and value.layout.columns.axis == axis:
        value = at.joiner.beside(value, axis, WHY)
    side, part = value.layout.side(axis)
    size = gcd(most, part.count) if part.step == 1 else 1
    value = at.joiner.tiled(value, side, size, WHY) if side else value
    if sum(each.axis == axis for each in value.layout.loops) > 1:
        value = at.joiner.innermost(value, AxisPart(axis, size), WHY)
    return value, size


def kept(at: Importer, value: Value, dim: int, numbers: Sequence[int]) -> Value:
    """``numbers`` of dimension ``dim``, each larger than the one before; all other blocks are dropped."""
    value = merged(at, exact(at, value, value.dims[dim]), dim)
    (axis,) = value.dims[dim]
    is_whole = numbers[-1] - numbers[0] + 1 == len(numbers)
    value, size = in_blocks(at, value, axis, gcd(numbers[0], len(numbers), axis.extent) if is_whole else 1)
    stream = filtered(at, value, np.isin(value.layout.firsts(axis), [each // size * size for each in numbers]))
    return _formed(at, value, stream, dim, at.axis("kept", len(numbers)), size)


def picked(at: Importer, value: Value, dim: int, numbers: Sequence[int]) -> Value:
    """``numbers`` of dimension ``dim`` in any order: out of memory, or one by one where rows go round."""
    if value.stream.shape[0] != dim_of(1):
        return chained(at, [kept(at, value, dim, [each]) for each in numbers], dim)
    value = merged(at, exact(at, value, value.dims[dim]), dim)
    (axis,) = value.dims[dim]
    value, size = in_blocks(at, value, axis, 1)
    (tensor, last), extents = at.joiner.stored(value, WHY), list(value.layout.extents)
    place = next(number for number, part in enumerate(value.layout.loops) if part.axis == axis)
    order = np.arange(prod(extents), dtype=np.uint32).reshape(extents).take(numbers, place)
    number = at.graph.generate(Tile(FP32), order.ravel().tolist(), order.shape, reference=last, name=at.name("number"))
    address = number.map(Cast(UINT32), name=at.name("address"))
    stream = address.load_random(tensor, tile=value.layout.tile, name=at.name("picked"))
    flat = stream.flatten(0, stream.rank, name=at.name("picked_flat"))
    return _formed(at, value, flat, dim, at.axis("picked", len(numbers)), size)


def chained(at: Importer, values: Sequence[Value], dim: int) -> Value:
    """``values`` one behind the other in dimension ``dim``: tile by tile, with that axis innermost."""
    extents = [sizes(each.dims)[dim] for each in values]
    values = [plain(at, each) for each in values]
    dtype = FP32 if any(each.dtype is FP32 for each in values) else values[0].dtype
    new, lead = at.axis("chained", sum(extents)), max(values, key=lambda each: sum(map(len, each.dims)))
    dims = with_dim(lead.dims, dim, new)
    values = [_named(each, dims) for each in values]
    columns = next((each.layout.columns.axis for each in values if each.layout.columns), None)
    values = [at.joiner.beside(each, columns, WHY) for each in values]
    for axis in (axis for axes in dims for axis in axes):
        most = gcd(*(each.layout.side(axis)[1].count for each in values), *(extents if axis == new else ()))
        values = [in_blocks(at, each, axis, most)[0] for each in values]
    first = max(values, key=lambda each: len(each.layout.loops))
    outer = tuple(part for part in first.layout.loops if part.axis != new)
    order = [*(part.axis for part in outer), new]
    streams = []
    for each in values:
        own = sorted(each.layout.loops, key=lambda part: order.index(part.axis))
        stream = in_one_loop(at, at.joiner.reordered(each, own, "values are put one behind the other"), "part")
        wide = stream.element.tiles[0].dtype is not dtype and dtype is FP32
        streams.append(stream.map(Cast(FP32), name=at.name("wide")) if wide else stream)
    size = values[0].layout.side(new)[1].count
    loops = (*outer, AxisPart(new, new.extent // size, size))
    masks = [1 << number for number, extent in enumerate(extents) for _ in range(extent // size)]
    turns = at.sources.played(Selector(len(values)), masks, prod(part.count for part in loops), at.name("turns"))
    gathered = at.graph.reassemble(streams, turns, order="index", name=at.name("gathered"))
    layout = TileLayout(loops, first.layout.rows, first.layout.columns)
    stream = looped(at, gathered.flatten(0, 1, name=at.name("tiles")), first.stream.shape[0], layout.extents)
    made = Value(stream, dims, layout, dtype)
    beside = layout.columns is not None and layout.columns.axis == new
    return at.joiner.columns(made, new.extent, "columns lie side by side") if beside else made


def _named(value: Value, dims: Dims) -> Value:
    """``value`` with the axes of ``dims``, of which one may be longer."""
    names = {own[0]: axes[0] for own, axes in zip(value.dims, dims, strict=True) if own}
    return replace(value, dims=dims, layout=value.layout.renamed(names))


def _formed(at: Importer, value: Value, flat: Stream, dim: int, new: TensorAxis, size: int) -> Value:
    """``value`` with the stream ``flat`` of all its tiles, and the axis ``new`` in dimension ``dim``."""
    (axis,) = value.dims[dim]

    def of_tile(part: AxisPart | None) -> AxisPart | None:
        return part if part is None or part.axis != axis else AxisPart(new, size) if new.extent > 1 else None

    def of_loops(part: AxisPart) -> AxisPart:
        return part if part.axis != axis else AxisPart(new, new.extent // size, size)

    loops = tuple(part for part in map(of_loops, value.layout.loops) if part.count > 1)
    layout = TileLayout(loops, of_tile(value.layout.rows), of_tile(value.layout.columns))
    stream = looped(at, flat, value.stream.shape[0], layout.extents)
    return replace(value, stream=stream, dims=with_dim(value.dims, dim, new), layout=layout)
