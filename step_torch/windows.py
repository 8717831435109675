"""Windows over pixels: of every place of a window the pixels under it, one after the other.

A pixel is a tile of all its channels. Pixels of an image, with those of its border, lie in a buffer, or in memory where
they are many; every window reads them in strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

from step.functions import RetileRow
from step_torch.layouts import AxisPart, TileLayout, Value, fitting, sizes
from step_torch.loops import in_one_loop
from step_torch.lowerings import shapes
from step_torch.lowerings.elementwise import kept
from step_torch.sources import supported

if TYPE_CHECKING:
    from step_torch.importing import Importer

WHY = "a window reads pixels again"


@dataclass(frozen=True)
class PixelWindow:
    """PixelWindow of ``size`` pixels along an axis, ``dilation`` apart, that moves in steps of ``stride``.

    ``border``: pixels in front of the first one. ``spread``: pixels of the image lie so far apart.
    """

    size: int
    stride: int = 1
    border: int = 0
    dilation: int = 1
    spread: int = 1

    def places(self, extent: int, count: int) -> list[int]:
        """The pixel of an image of ``extent`` at every place that ``count`` windows see, ``extent`` for the border."""
        ends = (count - 1) * self.stride + (self.size - 1) * self.dilation, self.border + (extent - 1) * self.spread
        inside = {self.border + pixel * self.spread: pixel for pixel in range(extent)}
        return [inside.get(place, extent) for place in range(max(ends) + 1)]


def pixels(at: Importer, x: Any) -> Value:
    """``x`` [batch, channels, *space] as tiles [1, channels] in the order of the other dimensions."""
    value = at.whole_rows(shapes.permute(at, x, [0, *range(2, len(x.dims)), 1]), "a pixel has all its channels")
    value = at.joiner.in_order(at.joiner.rows(value, 1, WHY), WHY)
    *outer, channels = value.dims
    layout = TileLayout(value.layout.loops, None, value.layout.columns)
    return replace(value, dims=(outer[0], channels, *outer[1:]), layout=layout)


def under(at: Importer, x: Value, windows: Sequence[PixelWindow], fill: float = 0.0) -> Value:
    """The pixels of ``x`` under each window [batch, *windows, *pixels of one]; the border is ``fill``.

    Rows of a tile are neighbouring windows. Dimensions are those of the result, without the pixels of a window.
    """
    extents, counts = sizes(x.dims)[2:], at.meta.shape[2:]
    is_batch = len(extents) == len(windows)
    supported(is_batch, "an image without a batch; [batch, channels, *space] has a lowering: x.unsqueeze(0)")
    rows = fitting(counts[-1], at.tiling.most_rows)
    seen_at_all = *counts[:-1], -(-counts[-1] // rows) * rows
    places = [each.places(*pair) for each, pair in zip(windows, zip(extents, seen_at_all, strict=True), strict=True)]
    batch = tuple(part for part in x.layout.loops if part.axis in x.dims[0])
    if any(len(place) > extent for place, extent in zip(places, extents, strict=True)):
        x = _bordered(at, x, batch, places, fill)
    below = [prod(len(each) for each in places[number + 1 :]) for number in range(len(places))]
    axes = [at.axis(f"window{number}", count) for number, count in enumerate(counts)]
    parts = [AxisPart(axis, axis.extent) for axis in axes[:-1]] + [AxisPart(axes[-1], -(-counts[-1] // rows), rows)]
    moves = [each.stride * step for each, step in zip(windows, below, strict=True)]
    moved = [(part.count, part.step * move) for part, move in zip(parts, moves, strict=True) if part.count > 1]
    seen = [(each.size, each.dilation * step) for each, step in zip(windows, below, strict=True)]
    extents, strides = zip(*moved, *seen, (rows, moves[-1]), strict=True)
    stream = at.joiner.read(x, len(batch), [*extents], [*strides], WHY)
    stream = stream.accum(RetileRow(), name=at.name("rows"))
    space = tuple((axis,) if axis.extent > 1 else () for axis in axes)
    loops = (*batch, *(part for part in parts if part.count > 1))
    layout = TileLayout(loops, AxisPart(axes[-1], rows) if rows > 1 else None, x.layout.columns)
    return Value(stream, (*x.dims[:2], *space), layout, x.dtype)


def _bordered(at: Importer, x: Value, batch: Sequence[AxisPart], places: Sequence[Sequence[int]], fill: float) -> Value:
    """``x`` with pixels of a border, in one loop over those of an image."""
    inside = [True]
    for each, extent in zip(places, sizes(x.dims)[2:], strict=True):
        inside = [yes and place < extent for yes in inside for place in each]
    outer = [1, *(part.count for part in batch)]
    supported(x.stream.shape[0] == 1, "images that come one after the other")
    blank = [[fill] * x.layout.tile[1]]
    border = at.graph.constant(blank, [prod(outer) * inside.count(False)], dtype=kept(x.stream), name=at.name("border"))
    turns = at.graph.turns(2, [int(not yes) for yes in inside], [*outer, len(inside)], name=at.name("turns"))
    both = at.graph.reassemble([in_one_loop(at, x, "image"), border], turns, order="index", name=at.name("bordered"))
    stream = both.flatten(0, 1, name=at.name("pixels")).assume_shape([*outer, len(inside)])
    loops = (*batch, AxisPart(at.axis("places", len(inside)), len(inside)))
    return replace(x, stream=stream, layout=replace(x.layout, loops=loops))
