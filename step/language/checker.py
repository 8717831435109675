"""Checks a stream against its declared shape, token by token, and measures its symbols."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy

from step.errors import StreamFault
from step.language.dims import format_shape
from step.language.operator import StreamType
from step.language.tokens import UNKNOWN, Token
from step.language.types import Tile


class StreamChecker:
    """Counts the extents of every dimension of one stream.

    ``extents[d]`` has the extent of dimension d (counted from the innermost one) of every tensor seen;
    an empty says that its outermost dimension is 0, and nothing of those inside of it. ``tile_totals`` are the rows and
    columns of all tiles together, and ``tile_extents`` those that there were, where the type does not say them.
    """

    def __init__(self, name: str, stream: StreamType) -> None:
        self._name = name
        self._type = stream
        self._static = [int(each) if each.is_static else None for each in reversed(stream.shape)]
        self._counts = [0] * len(stream.shape)
        self.position = 0
        self.done = False
        self.extents: list[set[int]] = [set() for _ in stream.shape]
        self.totals = [0] * len(stream.shape)
        element = stream.element
        self._sizes_differ = isinstance(element, Tile) and not element.is_static
        self._cols = int(element.cols) if isinstance(element, Tile) and element.cols.is_static else 0
        self.tile_totals = 0, 0
        self.tile_extents: tuple[set[int], set[int]] = set(), set()

    def copy(self) -> StreamChecker:
        """One that has seen the same tokens."""
        other = copy(self)
        other._counts, other.totals = list(self._counts), list(self.totals)
        other.extents = [set(each) for each in self.extents]
        other.tile_extents = set(self.tile_extents[0]), set(self.tile_extents[1])
        return other

    def see(self, token: Token) -> None:
        """Take the next token, whose value may be unknown, or of a tile the number of its rows; raises `StreamFault`
        where it does not fit."""
        rank = len(self._counts) - 1
        if self.done:
            self._fail("comes after Done")
        if token.done:
            self.done = True
            for level in range(rank):
                if self._counts[level]:
                    self._fail(f"is Done inside an open tensor of rank {level + 1}")
            self._close(rank)
            return
        if token.stop > rank:
            self._fail(f"has a stop of level {token.stop}, but the stream's rank is {rank}")
        if token.has_value:
            counted = self._sizes_differ and isinstance(token.value, int)
            if token.value is not UNKNOWN and not counted and not self._type.element.accepts(token.value):
                self._fail(f"is no {self._type.element}")
            if self._sizes_differ and token.value is not UNKNOWN:
                shape = (token.value, self._cols) if counted else token.value.shape
                self.tile_totals = self.tile_totals[0] + shape[0], self.tile_totals[1] + shape[1]
                for extents, extent in zip(self.tile_extents, shape, strict=True):
                    extents.add(extent)
        else:
            self._check_empty(token)
            self.extents[token.rank - 1].add(0)
        self._counts[token.rank] += 1
        for level in range(token.rank, token.stop):
            self._close(level)
            self._counts[level + 1] += 1
        self.position += 1

    def fits(self, extents: Sequence[int]) -> bool:
        """Whether a tensor with these ``extents``, the outermost one first, is what was declared."""
        static = reversed(self._static)
        return all(wanted in (None, extent) for extent, wanted in zip(extents, static, strict=True))

    def see_regular(self, extents: Sequence[int]) -> None:
        """Take all tokens of one tensor that `fits`, and Done, before which nothing came; every extent is >= 1."""
        self.position, self.done = math.prod(extents), True
        self.extents = [{extent} for extent in reversed(extents)]
        self.totals = [math.prod(extents[: len(extents) - level]) for level in range(len(extents))]

    def _check_empty(self, token: Token) -> None:
        if not 1 <= token.rank <= token.stop:
            self._fail(f"is an empty tensor of rank {token.rank} with a stop of level {token.stop}")
        for level in range(token.rank):
            if self._counts[level]:
                self._fail(f"is an empty tensor of rank {token.rank} inside an open one of rank {level + 1}")
        outermost = self._type.shape[-token.rank]
        if not outermost.may_be_empty:
            self._fail(f"is an empty tensor of rank {token.rank}, but its outermost dimension is {outermost}")

    def _close(self, level: int) -> None:
        count, wanted = self._counts[level], self._static[level]
        if wanted is not None and count != wanted:
            self._fail(f"ends a dimension of extent {wanted} after {count}")
        self.extents[level].add(count)
        self.totals[level] += count
        self._counts[level] = 0

    def _fail(self, what: str) -> None:
        raise StreamFault(
            f"stream {self._name} of shape {format_shape(self._type.shape)}: token {self.position} {what}"
        )
