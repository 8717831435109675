"""Pooling: pixels under windows without weights."""

from __future__ import annotations

from math import inf, prod
from typing import Any

from step import FP32
from step.functions import Add, Max, Scale
from step_torch.importing import Importer, with_dtype
from step_torch.layouts import Value
from step_torch.registry import lowers
from step_torch.sources import supported
from step_torch.windows import PixelWindow, pixels, under

Sizes = list[int] | None
"""A size for each axis, or one for both."""


@lowers("aten.max_pool2d_with_indices.default")
def max_pool(
    at: Importer, x: Any, kernel: Sizes, stride: Sizes = None, padding: Sizes = None, dilation: Sizes = None,
    ceil_mode: bool = False,
) -> Value:  # fmt: skip
    """The largest under every window; nobody has where it was."""
    windows = _windows(kernel, stride, padding, dilation)
    found = under(at, pixels(at, x), windows, -inf)
    return with_dtype(found, found.stream.accum(Max(out=at.dtype), rank=len(windows), name=at.name()), at.dtype)


@lowers("aten.avg_pool2d.default")
def average_pool(
    at: Importer, x: Any, kernel: Sizes, stride: Sizes = None, padding: Sizes = None, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Value:  # fmt: skip
    """The mean under every window."""
    supported(not ceil_mode, "ceil_mode; without it there is a lowering")
    supported(count_include_pad or not any(padding or ()), "a border that does not count; one that does has a lowering")
    windows = _windows(kernel, stride, padding)
    found = under(at, pixels(at, x), windows)
    total = found.stream.accum(Add(out=FP32), rank=len(windows), name=at.name("sum"))
    share = Scale(1 / (divisor_override or prod(each.size for each in windows)), out=at.dtype)
    return with_dtype(found, total.map(share, name=at.name()), at.dtype)


def _windows(kernel: Sizes, stride: Sizes = None, padding: Sizes = None, dilation: Sizes = None) -> list[PixelWindow]:
    """One for each axis; a list of one is for all of them."""
    given = (kernel or [], stride or kernel or [], padding or [0], dilation or [1])
    return [PixelWindow(*(each[axis % len(each)] for each in given)) for axis in range(2)]
