"""Convolutions: a product of all channels under a window with the weights, or sums for each channel by itself."""

from __future__ import annotations

from dataclasses import replace
from operator import le, sub
from typing import Any

import numpy as np

from step import BF16, FP32
from step.functions import Add, Cast, Mul, RetileCol
from step_torch.importing import Importer
from step_torch.layouts import AxisPart, TileLayout, Value, sizes
from step_torch.lowerings import shapes
from step_torch.lowerings.elementwise import add
from step_torch.lowerings.products import Product
from step_torch.registry import lowers
from step_torch.sources import Stored, is_parameter, supported
from step_torch.windows import PixelWindow, pixels, under


@lowers("aten.convolution.default")
def convolution(
    at: Importer, x: Any, weight: Any, bias: Any, stride: list[int], padding: list[int], dilation: list[int],
    transposed: bool, output_padding: list[int], groups: int,
) -> Value:  # fmt: skip
    """Sums of what is under a window times the weights, in one, two or three dimensions; transposed ones, too."""
    supported(is_parameter(weight), "its weights are no parameter of the module")
    supported(bias is None or is_parameter(bias), "its bias is no parameter")
    supported(at.meta.dtype == "bfloat16", f"its result is {at.meta.dtype}; bfloat16 has a lowering")
    at.check_format(weight)
    kernel, ones = weight.data.shape[2:], [1] * len(stride)
    if transposed:
        reaches = [reach * (size - 1) for size, reach in zip(kernel, dilation, strict=True)]
        supported(all(map(le, padding, reaches)), f"a padding of {padding} is wider than the window")
        padding = [*map(sub, reaches, padding)]
    strides, spreads = (ones, stride) if transposed else (stride, ones)
    windows = [*map(PixelWindow, kernel, strides, padding, dilation, spreads)]
    weight = _of_outputs(weight, groups, transposed=transposed)
    if groups == sizes(x.dims)[1] == len(weight.data) > 1:
        return _by_itself(at, x, weight, bias, windows)
    x = _beside(at, x, windows)
    weight = weight.formed("in_rows", lambda data: _in_rows(data, groups), ())
    axis = at.axis("channels", at.meta.shape[1])
    *space, _ = x.dims
    value = Product(at.node, x, weight, bias, True, (*space, (axis,)), axis).value(at)
    return replace(value, dims=(space[0], (axis,), *space[1:]))


def _beside(at: Importer, x: Any, windows: list[PixelWindow]) -> Value:
    """All that is under a window side by side [batch, *windows, pixels * channels]."""
    if all(each == PixelWindow(1) for each in windows):
        return at.whole_rows(shapes.permute(at, x, [0, *range(2, len(x.dims)), 1]), "a product takes all channels")
    found = under(at, pixels(at, x), windows)
    stream = found.stream.accum(RetileCol(), rank=len(windows), name=at.name("beside"))
    (tile,) = stream.element.tiles
    inner = at.axis("under", int(tile.cols))
    layout = replace(found.layout, columns=AxisPart(inner, inner.extent))
    return Value(stream, (found.dims[0], *found.dims[2:], (inner,)), layout, found.dtype)


def _by_itself(at: Importer, x: Any, weight: Stored, bias: Stored | None, windows: list[PixelWindow]) -> Value:
    """Every channel with weights of its own."""
    found = under(at, pixels(at, x), windows)
    (axis,), kernel = found.dims[1], weight.data.shape[2:]
    places = [at.axis(f"place{number}", size) for number, size in enumerate(kernel)]
    dims = (*((each,) for each in places), (axis,))
    form = weight.formed("of_pixels", lambda data: np.moveaxis(data[:, 0], 0, -1), dims)
    loops = (*found.layout.loops, *(AxisPart(each, each.extent) for each in places))
    wanted = TileLayout(loops, None, AxisPart(axis, axis.extent))
    weights = at.in_layout(form, wanted, "weights are read for every window").stream
    terms = found.stream.map(Mul(out=FP32), weights, name=at.name("terms"))
    total = replace(found, stream=terms.accum(Add(), rank=len(kernel), name=at.name("sum")))
    if bias is not None:
        return add(at, total, replace(bias, dims=((axis,), *[()] * len(kernel))))
    return replace(total, stream=total.stream.map(Cast(BF16), name=at.name("rounded")))


def _of_outputs(weight: Stored, groups: int, *, transposed: bool) -> Stored:
    """Weights [outputs, inputs of a group, *window]; those of a transposed convolution come the other way round."""

    def form(data: np.ndarray) -> np.ndarray:
        parts = data.reshape(groups, -1, *data.shape[1:]).swapaxes(1, 2)
        return np.flip(parts.reshape(-1, *parts.shape[2:]), axis=tuple(range(2, data.ndim)))

    return weight.formed("turned", form, ()) if transposed else weight


def _in_rows(data: np.ndarray, groups: int) -> np.ndarray:
    """Weights [outputs, window * channels], zero where an input is of another group than the output."""
    outputs, inner, *window = data.shape
    whole = np.zeros((groups, outputs // groups, *window, groups, inner), data.dtype)
    for group, part in enumerate(data.reshape(groups, -1, *data.shape[1:])):
        whole[group, ..., group, :] = np.moveaxis(part, 1, -1)
    return whole.reshape(outputs, -1)
