"""When data is equal: bit for bit, types and shapes included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def same(first: Any, second: Any) -> bool:
    """Whether arrays, masks, and streams, tuples or dictionaries of them are equal; NaN is, with the same bits."""
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        arrays = isinstance(first, np.ndarray) and isinstance(second, np.ndarray)
        return arrays and (first.dtype, first.shape, first.tobytes()) == (second.dtype, second.shape, second.tobytes())
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(same(each, second[name]) for name, each in first.items())
    if isinstance(first, Sequence) and isinstance(second, Sequence):
        return len(first) == len(second) and all(map(same, first, second))
    return bool(first == second)
