"""Tiles as words of a link, and when words that are written, one a cycle, can be read as others, one a cycle."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from step.language.dtypes import DType
from step.language.types import ElementType, Tile
from step.lowering.plans.parts import Parts
from step.lowering.plans.rows import parts as in_parts
from step.lowering.plans.rows import word_bits

INT4 = DType("INT4", 4, np.dtype(np.int8))
"""Half of an INT8; what is on the wires is the same."""


@dataclass(frozen=True)
class Words:
    """A tile in words of a link of ``link_bits``."""

    rows: int
    cols: int
    dtype: DType
    link_bits: int

    @classmethod
    def of(cls, element: ElementType, link_bytes: int, *, control: bool | None = None) -> Words:
        """The words of ``element``: ``control``, by default what is always that, is one word, however wide the link."""
        assert isinstance(element, Tile)
        control = element.is_control if control is None else control
        return cls(*element.shape, element.dtype, max(8 * link_bytes, element.bits * control))

    def of_bits(self, bits: int) -> Words:
        """The same words, in scalars of 4 ``bits``, two in each INT8; or as they are."""
        return replace(self, cols=2 * self.cols, dtype=INT4) if bits == 4 else self

    @property
    def scalars(self) -> int:
        return self.rows * self.cols

    @property
    def bits(self) -> int:
        return self.scalars * self.dtype.bits

    @property
    def word_bits(self) -> int:
        return word_bits((self.bits,), self.link_bits)

    @property
    def words(self) -> int:
        """Number of words."""
        return int(self.words_at(self.rows))

    def words_at(self, rows: Any) -> Any:
        """The words of as many ``rows`` as there are, a number, or hardware."""
        return in_parts(rows, self.cols * self.dtype.bits, self.link_bits)

    @property
    def parts(self) -> Parts:
        """All words, of as many bits as the first one."""
        return Parts(self.words, self.word_bits)

    def words_of(self, first: Any, last: Any) -> tuple[Any, Any]:
        """The words in which the scalars ``first`` to ``last`` lie, numbers or arrays: their first and their last."""
        return first * self.dtype.bits // self.link_bits, ((last + 1) * self.dtype.bits - 1) // self.link_bits


@dataclass(frozen=True)
class Schedule:
    """Parts written that each part that is read needs: first and last."""

    needs: tuple[tuple[int, int], ...]

    @property
    def lag(self) -> int:
        """Cycles from the first write to the first read; a part can be read in the cycle after it was written."""
        return 1 + max(last - read for read, (_, last) in enumerate(self.needs))

    def copies(self, lag: int, interval: int) -> int:
        """Elements that lie in the store side by side, if one begins every ``interval`` cycles at most.

        A part may be overwritten in the cycle in which it is read for the last time.
        """
        longest = max(lag + read - first for read, (first, _) in enumerate(self.needs))
        return max(1, -(-longest // interval))
