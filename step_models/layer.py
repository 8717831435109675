"""A decoder layer as a part of programs: norm, attention, norm and a mixture of experts, each pair with a residual.

A token is a row; a batch of them, one of each request, goes through a layer row by row. What is missing of the models:
rotary position embedding, and the norms of queries and keys of Qwen3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from step import BF16, Graph, Stream
from step.errors import InputError
from step.functions import Add, Cast, RetileCol
from step.language.arguments import Checked
from step.language.fused import Sum
from step.language.parameters import settle_parameters
from step_models.attending import Arrangement, Attention
from step_models.configurations import Configuration
from step_models.division import check_divides
from step_models.mixture import Mixture, Routes
from step_models.projection import batch_of_rows, columns_of_tiles, project, rms_norm, rows_of_tiles, tiles_of_rows


@dataclass(frozen=True)
class Schedule(metaclass=Checked):
    """Layout of a layer: extents of tiles, and regions.

    ``rows``: of the tiles of projections. ``depth`` and ``columns``: of weight tiles; a ``depth`` of None is all of
    hidden. ``expert_rows``: of the tiles of experts, None for one of dynamic size. ``expert_regions``: regions that
    experts share, None for one of each. ``cache_rows``: of the tiles of KV caches, None for one of dynamic size.
    ``regions`` of attention, which is ``arrangement``. ``held``: weights of projections stay on chip. ``sum``:
    that of all products.
    """

    rows: int = 4
    depth: int | None = None
    columns: int = 16
    expert_rows: int | None = 4
    expert_regions: int | None = None
    cache_rows: int | None = 4
    regions: int = 2
    arrangement: Arrangement = "dynamic"
    held: bool = False
    sum: Sum = "ordered"

    refused: ClassVar = InputError

    def __post_init__(self) -> None:
        settle_parameters(self)

    def depth_of(self, extent: int) -> int:
        """The extent of tiles along the rows of a weight with so many."""
        return extent if self.depth is None else self.depth


class Layer:
    """One layer as a part of ``graph``, for so many ``tokens``, each with ``tiles`` tiles in its KV caches.

    All names begin with ``prefix``. Raises `InputError` for what does not fit.
    """

    def __init__(
        self, graph: Graph, model: Configuration, schedule: Schedule, tokens: int, tiles: int, prefix: str = ""
    ) -> None:
        check_divides("rows, the rows of a tile,", schedule.rows, "the number of tokens", tokens)
        width = model.query_heads * model.head_size
        for what, extent in (("hidden", model.hidden), ("query_heads * head_size", width)):
            check_divides("depth, the extent of a weight tile along its rows,", schedule.depth_of(extent), what, extent)
            check_divides("columns, the extent of a weight tile,", schedule.columns, what, extent)
        narrow = model.key_value_heads * model.head_size
        check_divides("columns, the extent of a weight tile,", schedule.columns, "key_value_heads * head_size", narrow)
        self.graph, self.model, self.schedule, self.prefix = graph, model, schedule, prefix
        self.tokens = tokens
        caches = self.tokens * model.key_value_heads, tiles, schedule.cache_rows, model.head_size, model.group
        regions = schedule.regions, schedule.arrangement
        self.attention = Attention(graph, *caches, *regions, in_memory=False, prefix=prefix, sum=schedule.sum)
        tile = schedule.expert_rows, schedule.depth_of(model.hidden), schedule.columns
        experts = model.experts, model.hidden, model.inner
        self.mixture = Mixture(*experts, *tile, schedule.expert_regions, prefix, schedule.sum)
        hidden = model.hidden
        weights = {"wq": (hidden, width), "wk": (hidden, narrow), "wv": (hidden, narrow), "wo": (width, hidden)}
        shapes = {"attention_norm": (1, hidden), **weights, "experts_norm": (1, hidden)}
        self.tensors = {name: graph.tensor(f"{prefix}{name}", shape, BF16) for name, shape in shapes.items()}

    def apply(self, x: Stream, length: Stream, route: Callable[[Stream], Routes] | None = None) -> Stream:
        """Rows ``x`` [tokens] of BF16 tiles [1, hidden] -> the same behind the layer; ``length`` [tokens] of caches.

        ``route`` gives the routes of the rows that experts take; without it they are inputs (`Mixture.routed`).
        """
        prefix, room = self.prefix, self.tokens + 1
        attended = x.buffered(room).map(Add(out=BF16), self._attend(x, length), name=f"{prefix}attention_residual")
        normed = self._normed(attended, "experts")
        rows = self._rows(normed, "routed")
        if route is None:
            mixed = self.mixture.apply(self.graph, rows, self.model.experts_per_token)
        else:
            mixed = self.mixture.mix(self.graph, rows, route(rows))
        return attended.buffered(room).map(
            Add(out=BF16), mixed.assume_shape(attended.shape), name=f"{prefix}experts_residual"
        )

    def _normed(self, x: Stream, name: str) -> Stream:
        """A batch of tiles of the rows ``x``, normed."""
        name = f"{self.prefix}{name}"
        tiles = batch_of_rows(x, self.schedule.rows, name=name)
        scale = self.tensors[f"{name.removeprefix(self.prefix)}_norm"]
        return rms_norm(self.graph, tiles, scale, self.model.norm_epsilon, prefix=f"{name}_")

    def _attend(self, x: Stream, length: Stream) -> Stream:
        """Rows behind attention and its projections of the rows ``x``."""
        prefix, model = self.prefix, self.model
        normed = self._normed(x, "attention")
        heads = {
            name: columns_of_tiles(
                self._rows(self._project(normed, f"w{name}"), name), model.head_size, name=f"{prefix}{name}"
            )
            for name in ("q", "k", "v")
        }
        queries = tiles_of_rows(heads["q"], model.group, name=f"{prefix}queries")
        every = length.repeat(model.key_value_heads, name=f"{prefix}heads").flatten(0, 1, name=f"{prefix}lengths")
        new = {"keys": heads["k"], "values": heads["v"]}
        work = self.attention.append(every, new.__getitem__, queries)
        results = self.attention.results(work, in_order=True).item_of(1, name=f"{prefix}in_order")
        outputs = rows_of_tiles(results, name=f"{prefix}outputs").reshape(model.query_heads, name=f"{prefix}joined")[0]
        rows = outputs.accum(RetileCol(), name=f"{prefix}attended").map(Cast(BF16), name=f"{prefix}attended_rounded")
        projected = self._project(batch_of_rows(rows, self.schedule.rows, name=f"{prefix}attended"), "wo")
        return self._rows(projected, "projected")

    def _rows(self, tiles: Stream, name: str) -> Stream:
        """The rows [tokens] of a batch of tiles."""
        return rows_of_tiles(tiles, name=f"{self.prefix}{name}").flatten(0, 1, name=f"{self.prefix}{name}_each")

    def _project(self, x: Stream, name: str) -> Stream:
        weight, schedule = self.tensors[name], self.schedule
        depth = schedule.depth_of(int(weight.shape[0]))
        columns, held = schedule.columns, schedule.held
        return project(self.graph, x, weight, depth=depth, columns=columns, held=held, sum=schedule.sum)
