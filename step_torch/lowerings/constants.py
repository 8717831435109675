"""Tensors that are the same for all data, with an extent that a capture did not know."""

from __future__ import annotations

from typing import Any

import numpy as np

from step_torch.importing import Importer
from step_torch.registry import lowers
from step_torch.sources import Stored


@lowers("aten.arange.start_step")
def arange(at: Importer, start: float, end: float, step: float = 1) -> Stored:
    """Numbers in equal steps."""
    return at.constant(np.arange(start, end, step))


@lowers("aten.full.default", "aten.full_like.default")
def full(at: Importer, like: Any, number: float) -> Stored:
    """One scalar everywhere, of a shape or of that of a tensor."""
    return at.constant(np.full(at.meta.shape, number))
