"""Nested loops in place of the lists that they would make: a few numbers, however often they go round.

All are sequences. Short ones are better made lists by `listed`, as an entry of a list is looked up faster.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from step.language.tokens import DONE, UNKNOWN, Token

Entry = TypeVar("Entry")

SHORT = 4096
"""Entries of a list that is as good as loops."""


def listed(entries: Sequence[Entry]) -> Sequence[Entry]:
    """``entries`` as a list if they are few."""
    return list(entries) if len(entries) <= SHORT else entries


class _LoopSequence(Sequence[Entry]):
    """A sequence whose entry for each place is calculated, one for each turn of all loops."""

    extents: tuple[int, ...]

    def __len__(self) -> int:
        return math.prod(self.extents)

    def entry(self, place: int) -> Entry:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Entry]:
        return map(self.entry, range(len(self)))

    def __getitem__(self, place: int | slice) -> Any:
        places = range(len(self))[place]
        return self.entry(places) if isinstance(places, int) else [self.entry(each) for each in places]


@dataclass(frozen=True)
class Walk(_LoopSequence[int]):
    """``offset`` plus index times stride of every loop; ``extents`` and ``strides`` of the innermost one come last.

    >>> list(Walk((2, 3), (10, 1), 5))
    [5, 6, 7, 15, 16, 17]
    """

    extents: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest entry; every loop has to go round.

        >>> Walk((2, 3), (10, -1), 5).bounds
        (3, 15)
        """
        reaches = [(extent - 1) * stride for extent, stride in zip(self.extents, self.strides, strict=True)]
        first, last = (self.offset + sum(bound(0, each) for each in reaches) for bound in (min, max))
        return first, last

    @property
    def steps(self) -> tuple[int, ...]:
        """By the number of loops that end with an entry, how much more the next one is.

        >>> Walk((2, 3), (10, 1)).steps
        (1, 8)
        """
        steps, back = [], 0
        for extent, stride in zip(reversed(self.extents), reversed(self.strides), strict=True):
            steps.append(stride - back)
            back += (extent - 1) * stride
        return tuple(steps)

    @property
    def stops(self) -> Stops:
        """Number of loops that end with each entry."""
        return Stops(self.extents, len(self.extents))

    def times(self, factor: int, offset: int) -> Walk:
        """Every entry times ``factor``, plus ``offset``."""
        return Walk(self.extents, tuple(factor * each for each in self.strides), offset + factor * self.offset)

    def joined(self) -> Walk:
        """The same entries with fewer loops: two of them are one where the outer one goes on as the inner one does.

        >>> Walk((2, 3, 1, 4), (40, 4, 0, 1)).joined()
        Walk(extents=(2, 12), strides=(40, 1), offset=0)
        """
        loops: list[tuple[int, int]] = []
        for extent, stride in zip(self.extents, self.strides, strict=True):
            if extent == 1:
                continue
            if loops and loops[-1][1] == extent * stride:
                extent *= loops.pop()[0]
            loops.append((extent, stride))
        return Walk(tuple(extent for extent, _ in loops), tuple(stride for _, stride in loops), self.offset)

    def entry(self, place: int) -> int:
        found = self.offset
        for extent, stride in zip(reversed(self.extents), reversed(self.strides), strict=True):
            place, index = divmod(place, extent)
            found += index * stride
        return found


@dataclass(frozen=True)
class Stops(_LoopSequence[int]):
    """Number of loops, ``most`` at most, that end with each place.

    >>> list(Stops((2, 3), 2)), list(Stops((2, 3), 1))
    ([0, 0, 1, 0, 0, 2], [0, 0, 1, 0, 0, 1])
    """

    extents: tuple[int, ...]
    most: int

    def entry(self, place: int) -> int:
        count, rest = 0, place + 1
        while count < self.most and rest % self.extents[-1 - count] == 0:
            rest //= self.extents[-1 - count]
            count += 1
        return count


@dataclass(frozen=True, eq=False)
class RegularStream(_LoopSequence[Token]):
    """The tokens of a stream without empties, whose dimensions have one extent each; ``values`` are None if unknown.

    >>> " ".join(map(str, RegularStream((2, 2), range(4))))
    '0 1 S1 2 3 S1 D'
    """

    extents: tuple[int, ...]
    values: Sequence[Any] | np.ndarray | None = None

    def __len__(self) -> int:
        return super().__len__() + 1

    @property
    def stops(self) -> Stops:
        """Stops of all tokens but Done."""
        return Stops(self.extents, len(self.extents) - 1)

    def entry(self, place: int) -> Token:
        if place == len(self) - 1:
            return DONE
        return Token(UNKNOWN if self.values is None else self.values[place], self.stops.entry(place))
