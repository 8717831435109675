"""Words, and cycles that follow from the rows of a tile: formulas that are given rows as a number, or as hardware."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce, singledispatch
from typing import Any


@singledispatch
def larger(one: Any, other: Any) -> Any:
    """The larger one of two numbers; what else ``one`` may be is registered."""
    return max(one, other)


def largest(*numbers: Any) -> Any:
    """The largest of ``numbers``."""
    fixed = [each for each in numbers if isinstance(each, int)]
    others = [each for each in numbers if not isinstance(each, int)]
    return reduce(larger, [*others, max(fixed)] if fixed else others)


@singledispatch
def entry(rows: Any, table: Sequence[int]) -> Any:
    """The entry of ``table`` for so many ``rows``; what else ``rows`` may be is registered."""
    return table[rows]


def word_bits(items: tuple[int, ...], link_bits: int) -> int:
    """Bits of a word: those of the link, or of the widest of ``items`` where that is narrower."""
    return min(link_bits, max(items, default=0))


def parts(rows: Any, row: int, part: int) -> Any:
    """In how many parts of size ``part`` are ``rows`` of size ``row``.

    In lowest terms ``part`` is a power of two where ``rows`` is hardware.
    """
    if isinstance(rows, int):
        return -(-rows * row // part)
    common = math.gcd(row, part)
    row, part = row // common, part // common
    return (rows * row + (part - 1)) >> (part.bit_length() - 1)
