"""Depths are made smaller, as long as what they have to do they still do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from step.fifos.runs import Depths

LEAST = 2
"""The smallest depth of a channel."""

Good = Callable[[Sequence[Depths]], list[bool]]
"""Whether each of several choices of depths still does what it has to."""


def shrink(depths: Depths, order: Sequence[str], good: Good) -> dict[str, int]:
    """Smaller ``depths`` that are ``good``, as these are; the channels that come first in ``order`` give the most.

    Channels are tried together, then by halves, then alone. At the end none can be lowered by one alone.
    """
    return _Shrink(dict(depths), good).run(order)


class _Shrink:
    def __init__(self, depths: dict[str, int], good: Good) -> None:
        self.depths, self._good = depths, good

    def run(self, order: Sequence[str]) -> dict[str, int]:
        self._lower([name for name in order if self.depths[name] > LEAST])
        while names := [name for name in order if self.depths[name] > LEAST]:
            verdicts = self._good([{**self.depths, name: self.depths[name] - 1} for name in names])
            lower = [name for name, is_good in zip(names, verdicts, strict=True) if is_good]
            if not lower:
                break
            for name in lower:  # each is good alone; together they may not be
                self._lower([name])
        return self.depths

    def _lower(self, names: Sequence[str]) -> None:
        """Bring as many of ``names`` as can be to the smallest depth, and of the others each as far as it goes."""
        if len(names) < 2:
            for name in names:
                self._search(name)
            return
        middle = len(names) // 2
        parts = (names, names[:middle], names[middle:])
        whole, first, second = self._good([{**self.depths, **dict.fromkeys(part, LEAST)} for part in parts])
        if whole:
            self.depths.update(dict.fromkeys(names, LEAST))
            return
        if first:
            self.depths.update(dict.fromkeys(names[:middle], LEAST))
        else:
            self._lower(names[:middle])
        if second and not first and self._all_good(names[middle:]):
            self.depths.update(dict.fromkeys(names[middle:], LEAST))
        else:
            self._lower(names[middle:])

    def _all_good(self, names: Sequence[str]) -> bool:
        return self._good([{**self.depths, **dict.fromkeys(names, LEAST)}])[0]

    def _search(self, name: str) -> None:
        """The smallest depth of one channel, several at a time between one that is too small and one that is good."""
        too_small, enough = LEAST - 1, self.depths[name]
        while enough - too_small > 1:
            between = _between(too_small, enough)
            verdicts = self._good([{**self.depths, name: depth} for depth in between])
            bounds = [(too_small, False), *zip(between, verdicts, strict=True), (enough, True)]
            too_small, enough = next(
                (low, high) for (low, bad), (high, is_good) in pairwise(bounds) if is_good and not bad
            )
        self.depths[name] = enough


def _between(low: int, high: int) -> list[int]:
    """Up to three depths that part the range in equal ones."""
    return sorted({low + (high - low) * part // 4 for part in (1, 2, 3)} - {low})
