"""Tables of functions, linear between their points, which NumPy and RTL share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np


@dataclass(frozen=True)
class Table:
    """(value, rise) of every segment, which has 2^``step_bits`` places: the function is a straight line within it."""

    entries: tuple[tuple[int, int], ...]
    step_bits: int

    @cached_property
    def _columns(self) -> np.ndarray:
        """The table as one array of values and one of rises."""
        return np.array(self.entries).T.copy()

    def read(self, place: np.ndarray) -> np.ndarray:
        """The value at a ``place``, counted from the first one of the first segment; truncated."""
        value, rise = self._columns[:, place >> self.step_bits]
        return value + (rise * (place & (1 << self.step_bits) - 1) >> self.step_bits)


def lines(points: Iterable[int]) -> list[tuple[int, int]]:
    """(value, rise) from each point to the next one."""
    return [(low, high - low) for low, high in pairwise(points)]


def segments(
    function: Callable[[float], float], count: int, bits: int, first: float = 0, last: float = 1
) -> list[tuple[int, int]]:
    """(value, rise) of ``function`` in ``count`` segments from ``first`` to ``last``, with fraction ``bits``."""
    ends = (first + (last - first) * index / count for index in range(count + 1))
    return lines(round(function(end) * 2**bits) for end in ends)
