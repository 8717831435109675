"""Tensors that are the same for all data: an import makes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from step_torch.importing import Importer
from step_torch.registry import lowers
from step_torch.sources import Stored


@lowers("aten.arange.start_step")
def arange(
    at: Importer, start: float, end: float, step: float = 1, *, dtype: str | None = None, layout: Any = None,
    device: Any = None, pin_memory: bool | None = None,
) -> Stored:  # fmt: skip
    """Numbers in equal steps."""
    return at.constant(np.arange(start, end, step))


@lowers("aten.full.default")
def full(
    at: Importer, size: list[int], fill_value: float, *, dtype: str | None = None, layout: Any = None,
    device: Any = None, pin_memory: bool | None = None,
) -> Stored:  # fmt: skip
    """One scalar everywhere."""
    return at.constant(np.full(at.meta.shape, fill_value))


@lowers("aten.full_like.default")
def full_like(
    at: Importer, x: Any, fill_value: float, *, dtype: str | None = None, layout: Any = None, device: Any = None,
    pin_memory: bool | None = None, memory_format: Any = None,
) -> Stored:  # fmt: skip
    """One scalar everywhere, in the shape of another tensor."""
    return at.constant(np.full(at.meta.shape, fill_value))


@lowers("aten.scalar_tensor.default")
def scalar_tensor(
    at: Importer, number: float, *, dtype: str | None = None, layout: Any = None, device: Any = None,
    pin_memory: bool | None = None,
) -> Stored:  # fmt: skip
    """A number as a tensor."""
    return at.constant(np.full((), number))
