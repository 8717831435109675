"""Checks a stream against its declared shape, token by token, and measures its symbols."""

from __future__ import annotations

from step.errors import StreamFault
from step.language.dims import Shape, format_shape
from step.language.operator import StreamType
from step.language.tokens import OPEN, UNKNOWN, Token


class StreamChecker:
    """Counts the extents of every dimension of one stream.

    ``extents[d]`` has the extent of dimension d (counted from the innermost one) of every tensor seen;
    an empty tensor says nothing of the dimensions inside of it, but that the outermost one is 0 where no other may be.
    """

    def __init__(self, name: str, stream: StreamType) -> None:
        self._name = name
        self._type = stream
        self._static = [int(each) if each.is_static else None for each in reversed(stream.shape)]
        self._counts = [0] * len(stream.shape)
        self._before = OPEN
        self.position = 0
        self.done = False
        self.extents: list[set[int]] = [set() for _ in stream.shape]
        self.totals = [0] * len(stream.shape)

    @property
    def shape(self) -> Shape:
        return self._type.shape

    def see(self, token: Token) -> None:
        """Take the next token, whose value may be unknown; raises `StreamFault` where it does not fit."""
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
            if token.value is not UNKNOWN and not self._type.element.accepts(token.value):
                self._fail(f"is no {self._type.element}")
            empty = 0
        else:
            if token.stop < 1 or (self._before == 0):
                self._fail("is a bare stop behind an open value; the stop must ride with the value")
            empty = min(token.stop, self._before)
            # [[]] and [] are the same tokens: the empty dimension is any of the inner ones.
            if not any(each.may_be_empty for each in self._type.shape[len(self._type.shape) - empty :]):
                self._fail(f"is an empty tensor of rank {empty}, but no dimension of it may be empty")
            inner = self._type.shape[len(self._type.shape) - empty + 1 :]
            if self._static[empty - 1] is None and not any(each.may_be_empty for each in inner):
                self.extents[empty - 1].add(0)  # else it may as well be an extent of 1, of something empty
        self._counts[empty] += 1
        for level in range(empty, token.stop):
            self._close(level)
            self._counts[level + 1] += 1
        self._before = token.stop if not token.has_value or token.stop else 0
        self.position += 1

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
