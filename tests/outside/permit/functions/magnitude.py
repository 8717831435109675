"""The magnitude of a tile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from step.language.dtypes import DType
from step.language.scalars import Elementwise


@dataclass(frozen=True)
class Magnitude(Elementwise):
    """Every scalar of a BF16 or FP32 tile without its sign. 1 FLOP per scalar."""

    out: DType | None = None

    def combine(self, value: np.ndarray) -> np.ndarray:
        return np.abs(value)
