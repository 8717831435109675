"""Sizes of the tiles of an import, and the place of its weights."""

from __future__ import annotations

from dataclasses import dataclass

from step.errors import InputError
from step.language.arguments import Checked
from step.language.fused import Sum
from step.language.parameters import Count, settle_parameters

ROWS = 4
"""Rows of a tile where nobody asks for another number."""

COLUMNS = 16
"""Columns of a tile of weights where nobody asks for another number, and one row of wide weights does not either."""


@dataclass(frozen=True)
class Tiling(metaclass=Checked):
    """Sizes of the tiles of an import, and the place of its weights.

    ``rows``: rows of tiles of activations, None: four. Where an axis is shorter, it is all of it; where so many do not
    divide it, a number near by that does, or else the last tile is padded, which no result sees.
    ``columns``: columns of tiles of weights, likewise. None: 16, or, of a model that decodes with wide weights, what
    `chosen` says, of depth and units, too.
    ``held``: True keeps weights on chip, and reads them once; else they are read for every tile of activations.
    ``on_chip``: bytes that a buffer may have; larger weights are read again, and what a join holds goes through
    off-chip memory.
    ``cache_rows``: rows of the tiles of KV caches.
    ``depth``: most that products with weights, but for those of experts, take of their depth at a time, of weights that
    lie in memory in this order; None: all of it, of weights as they are in torch. The sums are the same.
    ``sum``: "ordered", or "fused" for all products, which have other bits.
    ``side_by_side``: most units of such a product, of which each loads and multiplies its share of the columns;
    ``columns`` is not asked then.
    ``shared``: products of integers in a layer of a language model share these units, one product after the other.
    ``heads``: most heads of a KV cache that are attended at once, each by units, and in tensors, of its own.

    Raises `InputError` for other values.

    >>> tiling = step_torch.Tiling(rows=8, columns=32)
    >>> step_torch.load("tests/step_torch/captured/page.pt2", tiling=tiling).program
    <program page: 53 operators, 9 inputs>
    """

    rows: Count | None = None
    columns: Count | None = None
    held: bool = True
    on_chip: int = 1 << 20
    cache_rows: Count = 4
    depth: Count | None = None
    sum: Sum = "ordered"
    side_by_side: Count = 1
    heads: Count = 1
    shared: bool = False

    refused = InputError

    def __post_init__(self) -> None:
        settle_parameters(self)

    @property
    def said(self) -> list[str]:
        """Sums, tiles and depth, a line each."""
        depth = "all of it at once" if self.depth is None else f"up to {self.depth} rows of weights at a time"
        own = "shared units" if self.shared else "units"
        beside = f", in {self.side_by_side} {own} side by side" * (self.side_by_side > 1 or self.shared)
        return [
            f"sums: {self.sum}",
            f"tiles: {self.most_rows} rows of activations, {self.most_columns} columns of weights{beside}",
            f"depth: {depth}",
        ]

    @property
    def most_rows(self) -> int:
        """Rows that a tile has at most."""
        return ROWS if self.rows is None else self.rows

    @property
    def most_columns(self) -> int:
        """Columns that a tile of weights has at most."""
        return COLUMNS if self.columns is None else self.columns
