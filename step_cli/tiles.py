"""Options of the tiles of an imported model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from step_cli.options import Count
from step_cli.verb import POSITIVE
from step_torch.tiling import Tiling

DEFAULT = Tiling()


@dataclass(frozen=True, kw_only=True)
class TileOptions:
    """Parameters of a `Tiling`, which `step_cli.verb.call` makes of them."""

    columns: Annotated[Count, "Columns of a tile of weights, by default as the model needs."]
    cache_rows: Annotated[int, POSITIVE, "Rows of a tile of KV caches."] = DEFAULT.cache_rows
    depth: Annotated[Count, "How much of its depth a product with a weight takes at a time, by default all."]
    sum: Annotated[Literal["ordered", "fused"], "How products are summed."] = DEFAULT.sum
    side_by_side: Annotated[int, POSITIVE, "Units that share the columns of a product with a weight."] = (
        DEFAULT.side_by_side
    )
    shared: Annotated[bool, "The units of a product are those of all products of integers in a layer."] = DEFAULT.shared
    heads: Annotated[int, POSITIVE, "Heads of a KV cache that are attended at once."] = DEFAULT.heads
