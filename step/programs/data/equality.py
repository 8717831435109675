"""When data is equal: bit for bit, types and shapes included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from step.language.tokens import Token


def same_value(first: Any, second: Any) -> bool:
    """Whether two arrays, masks, buffers or tuples of them are equal; NaN equals the NaN of the same bits."""
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        same = (first.dtype, first.shape) == (second.dtype, second.shape)
        return same and first.tobytes() == second.tobytes()
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return False
    if isinstance(first, tuple | list):
        alike = isinstance(second, list if isinstance(first, list) else tuple)
        return alike and len(first) == len(second) and all(map(same_value, first, second))
    return bool(first == second)


def same_tokens(first: Sequence[Token], second: Sequence[Token]) -> bool:
    """Whether two streams are equal, values bit for bit."""
    return len(first) == len(second) and all(
        one[1:] == other[1:] and same_value(one.value, other.value) for one, other in zip(first, second, strict=True)
    )


def same_arrays(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether two collections have equal arrays under the same names."""
    return set(first) == set(second) and all(same_value(first[name], second[name]) for name in first)
