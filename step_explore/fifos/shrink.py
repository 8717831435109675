"""Depths are made smaller, as long as what they have to do they still do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain

from step_explore.fifos.runs import Depths

LEAST = 2
"""The smallest depth of a channel."""

Good = Callable[[Sequence[Depths]], list[bool]]
"""Whether each of several choices of depths still does what it has to."""


def shrink(
    depths: Depths,
    order: Iterable[str | Sequence[str]],
    good: Good,
    *,
    alone: Collection[str] | None = None,
    floor: Depths | None = None,
) -> dict[str, int]:
    """Smaller ``depths`` that are ``good``, as these are; the channels that come first in ``order`` give the most.

    Channels are tried together, then by halves, then alone; those that are named together have one limit first. At the
    end none above the smallest depth can be lowered by one alone, of those to be tried ``alone``: all, unless given.
    ``floor``: depths below the smallest one, for channels that may have these; they are not tried alone.
    """
    groups = [(each,) if isinstance(each, str) else tuple(each) for each in order]
    tried = [name for name in chain(*groups) if alone is None or name in alone]
    return _Shrink(dict(depths), good, floor or {}).run(groups, tried)


class _Shrink:
    def __init__(self, depths: dict[str, int], good: Good, floor: Depths) -> None:
        self.depths, self._good, self._floor = depths, good, floor

    def run(self, groups: Sequence[Sequence[str]], alone: Sequence[str]) -> dict[str, int]:
        self._lower([group for group in groups if any(self.depths[name] > self._least(name) for name in group)])
        while names := [name for name in alone if self.depths[name] > LEAST]:
            verdicts = self._good([{**self.depths, name: self.depths[name] - 1} for name in names])
            lower = [(name,) for name, is_good in zip(names, verdicts, strict=True) if is_good]
            if not lower:
                break
            for each in lower:  # each is good alone; together they may not be
                self._search(each)
        return self.depths

    def _least(self, name: str) -> int:
        return self._floor.get(name, LEAST)

    def _lower(self, groups: Sequence[Sequence[str]]) -> None:
        """Bring as many ``groups`` as can be to the smallest depth, and of the others each as far as it goes."""
        if len(groups) < 2:
            for group in groups:
                self._search(group)
            return
        middle = len(groups) // 2
        parts = (groups, groups[:middle], groups[middle:])
        whole, first, second = self._good([{**self.depths, **self._limited(part, 1)} for part in parts])
        if whole:
            self.depths.update(self._limited(groups, 1))
            return
        if first:
            self.depths.update(self._limited(groups[:middle], 1))
        else:
            self._lower(groups[:middle])
        if second and not first and self._good([{**self.depths, **self._limited(groups[middle:], 1)}])[0]:
            self.depths.update(self._limited(groups[middle:], 1))
        else:
            self._lower(groups[middle:])

    def _limited(self, groups: Iterable[Sequence[str]], most: int) -> dict[str, int]:
        return {name: min(self.depths[name], max(most, self._least(name))) for name in chain(*groups)}

    def _search(self, group: Sequence[str]) -> None:
        """The smallest limit of the depths of one group, between one that is too small and one that is good."""
        least, enough = self._least(group[0]), max(self.depths[name] for name in group)
        too_small, tried = least - 1, [least, LEAST, enough - 1]  # most are at an end
        while enough - too_small > 1:
            between = sorted({each for each in tried if too_small < each < enough})
            verdicts = self._good([{**self.depths, **self._limited([group], most)} for most in between])
            for most, is_good in zip(between, verdicts, strict=True):
                if is_good:
                    enough = most
                    break
                too_small = most
            tried = [(too_small + enough) // 2]
        self.depths.update(self._limited([group], enough))
