"""Sizes of the tiles of an import, and the place of its weights."""

from __future__ import annotations

from dataclasses import dataclass

from step.errors import InputError
from step.language.arguments import Checked
from step.language.fused import Sum
from step.language.parameters import settle_parameters

ROWS = 4
"""Rows of a tile where nobody asks for another number."""


@dataclass(frozen=True)
class Tiling(metaclass=Checked):
    """``rows`` of the tiles of activations and ``columns`` of those of weights, where an axis is not shorter. Where so
    many columns do not divide it, tiles have the most that do; so they do in rows, of which there are up to four, where
    ``rows`` is None.

    ``held``: weights stay on chip, and are read once; else they are read for every tile of activations. ``on_chip``:
    bytes that a buffer of a join may have; what is larger goes through off-chip memory. ``cache_rows``: of the tiles of
    KV caches. ``depth``: products with weights, but for those of experts, take so much of their depth at a time, of
    weights that lie in memory in this order; else all of it, of weights as they are in torch. The sums are the same.
    ``sum`` is that of all products; "fused" ones have other bits. ``side_by_side``: such a product is so many units, of
    which each loads and multiplies its share of the columns; ``columns`` is not asked then.
    """

    rows: int | None = None
    columns: int = 16
    held: bool = True
    on_chip: int = 1 << 20
    cache_rows: int = 4
    depth: int | None = None
    sum: Sum = "ordered"
    side_by_side: int = 1

    refused = InputError

    def __post_init__(self) -> None:
        settle_parameters(self)

    @property
    def most_rows(self) -> int:
        """Rows that a tile has at most."""
        return ROWS if self.rows is None else self.rows
