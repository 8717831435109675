"""Views: the same scalars with other dimensions, whose axes are split and merged.

An axis that is split, into heads and their size, comes in blocks of the inner one.
"""

from __future__ import annotations

from dataclasses import replace
from math import gcd, prod
from typing import TYPE_CHECKING, Any

from step_torch.layouts import AxisPart, Dims, TensorAxis, Value, sizes
from step_torch.pieces import merged
from step_torch.ragged import exact
from step_torch.sources import Stored, is_parameter, supported

if TYPE_CHECKING:
    from step_torch.importing import Importer


Split = tuple[TensorAxis, TensorAxis, TensorAxis]
"""An axis, and the outer and the inner one that it is split into."""


def in_shape(at: Importer, x: Any, shape: tuple[int, ...]) -> Any:
    """``x`` with the dimensions ``shape``."""
    if hasattr(x, "in_shape"):
        return x.in_shape(at, shape)
    if is_parameter(x):
        return x.formed("_".join(map(str, shape)), lambda data: data.reshape(shape), at.axes(at.name(), shape))
    supported(prod(sizes(x.dims)) == prod(shape), f"a tensor {list(sizes(x.dims))} can not be seen as {list(shape)}")
    regrouped = _regrouped(at, x.dims, shape)
    if regrouped is None:
        flat = in_shape(at, x, (prod(shape),))
        return in_shape(at, at.whole_rows(flat, "dimensions do not divide each other"), shape)
    dims, splits = regrouped
    if isinstance(x, Stored) and len(dims[-1] if dims else ()) < 2 and sizes(dims[-1:]) == sizes(x.dims[-1:]):
        return replace(x, dims=dims)
    value = exact(at, at.tiles(x), [axis for axis, _, _ in splits])
    for axis, outer, inner in splits:
        value = _split(at, value, axis, outer, inner)
    value = replace(value, dims=dims)
    value = merged(at, value, -1) if dims else value
    apart = value.layout.columns is not None and value.layout.columns.step > 1
    return at.joiner.whole(value, value.dims[-1], "columns lie apart") if apart else value


def _regrouped(at: Importer, dims: Dims, shape: tuple[int, ...]) -> tuple[Dims, list[Split]] | None:
    """The axes of ``dims`` grouped to ``shape``, and those that are split in two; None where one does not divide."""
    atoms = [axis for each in dims for axis in each]
    grouped, splits = list[tuple[TensorAxis, ...]](), list[Split]()
    for extent in shape:
        group: list[TensorAxis] = []
        while (have := prod(each.extent for each in group)) < extent:
            axis, rest = atoms.pop(0), extent // have
            if axis.extent > rest or extent % have:
                if axis.extent % rest or extent % have:
                    return None
                outer, inner = at.axis(f"{axis.name}_outer", rest), at.axis(f"{axis.name}_inner", axis.extent // rest)
                splits.append((axis, outer, inner))
                atoms.insert(0, inner)
                axis = outer
            group.append(axis)
        if have != extent:
            return None
        grouped.append(tuple(group))
    return tuple(grouped), splits


def _split(at: Importer, value: Value, axis: TensorAxis, outer: TensorAxis, inner: TensorAxis) -> Value:
    """``value`` with the two axes in the place of the one."""
    columns, rows = value.layout.columns, value.layout.rows
    if columns is not None and columns.axis == axis and inner.extent != columns.count:
        value = at.joiner.columns(value, inner.extent, f"{outer.extent} heads are tiles of their own")
    if rows is not None and rows.axis == axis and inner.extent % rows.count:
        value = at.joiner.rows(value, gcd(inner.extent, rows.count), f"a dimension is split into {outer.extent} parts")

    loops = list[AxisPart]()
    for part in value.layout.loops:
        if part.axis == axis and part.step < inner.extent < part.count * part.step:
            count = inner.extent // part.step
            supported(inner.extent % part.step + part.count % count == 0, f"{part} goes across the parts of a split")
            loops += [AxisPart(axis, part.count // count, inner.extent), AxisPart(axis, count, part.step)]
        else:
            loops.append(part)
    value = at.joiner.reordered(value, loops, "a loop goes across the parts of a split")

    def new(part: AxisPart) -> AxisPart:
        if part.axis != axis:
            return part
        if part.step >= inner.extent:
            return AxisPart(outer, part.count, part.step // inner.extent)
        return AxisPart(inner, part.count, part.step)

    return replace(value, layout=value.layout.changed(new))
