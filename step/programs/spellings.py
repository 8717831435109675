"""Input data that says what its integers are: bit patterns of scalars, or masks of selectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Bits:
    """See `bits`."""

    patterns: Any


@dataclass(frozen=True, eq=False)
class Masks:
    """See `masks`."""

    values: Any


def bits(patterns: Any) -> Bits:
    """Input data for a tensor, or for a stream of tiles, given as bit patterns.

    ``patterns`` has the shape that the values would have; each is an integer >= 0 as wide as the scalar type: 0x3F80
    is the BF16 number 1.
    """
    return Bits(patterns)


def masks(values: Any) -> Masks:
    """Input data for a stream of selectors, given as masks: integers in which bit i stands for target i.

    ``values`` is an array ``[*dims]``, or nested sequences as deep.
    """
    return Masks(values)
