"""Pooling, and images that grow: pixels under windows without weights."""

from __future__ import annotations

from math import inf, prod
from typing import Any

from step import FP32
from step.functions import Add, Max, Scale
from step_torch.importing import Importer, with_dtype
from step_torch.layouts import AxisPart, TensorAxis, TileLayout, Value, sizes
from step_torch.registry import lowers
from step_torch.sources import supported
from step_torch.windows import WHY, PixelWindow, pixels, under


@lowers("aten.max_pool2d_with_indices.default")
def max_pool(
    at: Importer,
    x: Any,
    kernel: list[int],
    stride: list[int] | None = None,
    padding: list[int] | None = None,
    dilation: list[int] | None = None,
    ceil_mode: bool = False,
) -> Value:
    """The largest under every window; nobody has where it was."""
    windows = _windows(kernel, stride, padding, dilation)
    found = under(at, pixels(at, x), windows, -inf)
    return with_dtype(found, found.stream.accum(Max(out=at.dtype), rank=len(windows), name=at.name()), at.dtype)


@lowers("aten.avg_pool2d.default")
def average_pool(
    at: Importer,
    x: Any,
    kernel: list[int],
    stride: list[int] | None = None,
    padding: list[int] | None = None,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Value:
    """The mean under every window."""
    supported(not ceil_mode, "ceil_mode; without it there is a lowering")
    supported(count_include_pad or not any(padding or ()), "a border that does not count; one that does has a lowering")
    return _mean(at, x, _windows(kernel, stride, padding), divisor_override)


@lowers("aten._adaptive_avg_pool2d.default")
def adaptive_average_pool(at: Importer, x: Any, size: list[int]) -> Value:
    """The mean of every part of an image."""
    extents = sizes(x.dims)[2:]
    even = not any(extent % count for extent, count in zip(extents, size, strict=True))
    supported(even, f"{size} parts do not divide {list(extents)}")
    steps = [extent // count for extent, count in zip(extents, size, strict=True)]
    return _mean(at, x, _windows(steps))


@lowers("aten.upsample_nearest2d.vec")
def upsample(at: Importer, x: Any, size: list[int] | None, factors: list[float] | None) -> Any:
    """Every pixel several times."""
    if at.meta.shape == sizes(x.dims):
        return x
    value, counts = pixels(at, x), at.meta.shape[2:]
    extents = sizes(value.dims)[2:]
    even = not any(count % extent for extent, count in zip(extents, counts, strict=True))
    supported(even, f"{list(counts)} pixels are no multiple of {list(extents)}")
    batch = tuple(part for part in value.layout.loops if part.axis in value.dims[0])
    axes = [TensorAxis(at.name(f"grown{number}"), count) for number, count in enumerate(counts)]
    parts = list[tuple[AxisPart, int]]()
    for number, (axis, extent) in enumerate(zip(axes, extents, strict=True)):
        times = axis.extent // extent
        parts += [(AxisPart(axis, extent, times), prod(extents[number + 1 :])), (AxisPart(axis, times), 0)]
    loops, strides = zip(*(each for each in parts if each[0].count > 1), strict=True)
    stream = at.joiner.read(value, len(batch), [part.count for part in loops], [*strides], WHY)
    dims = (*value.dims[:2], *((axis,) if axis.extent > 1 else () for axis in axes))
    return Value(stream, dims, TileLayout((*batch, *loops), None, value.layout.columns), value.dtype)


def _windows(
    kernel: list[int],
    stride: list[int] | None = None,
    padding: list[int] | None = None,
    dilation: list[int] | None = None,
) -> list[PixelWindow]:
    """One for each axis; a list of one is for all of them."""
    given = (kernel, stride or kernel, padding or [0], dilation or [1])
    return [PixelWindow(*(each[axis % len(each)] for each in given)) for axis in range(2)]


def _mean(at: Importer, x: Any, windows: list[PixelWindow], divisor: int | None = None) -> Value:
    found = under(at, pixels(at, x), windows)
    total = found.stream.accum(Add(out=FP32), rank=len(windows), name=at.name("sum"))
    share = Scale(1 / (divisor or prod(each.size for each in windows)), out=at.dtype)
    return with_dtype(found, total.map(share, name=at.name()), at.dtype)
