"""The graphs behind Figs. 9, 10, 12, 13, 19 and 20 of the paper: a mixture of SwiGLU experts.

Every expert gathers its rows into tiles, of a fixed number of rows or one of as many rows as there are, and reads its
weights once per tile, in tiles of ``columns`` columns of F.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.published.functions import ValidRows
from sim_published.profile import Profile
from step import BF16, FP32, Graph, Stream, Tensor
from step.functions import Add, ExpertTiles, Matmul, Mul, RetileRow, Silu

STATIC = Profile(channel_depth=2, flops=4096)
"""Static tiles in Figs. 9 and 10; the batch of 1024 of Qwen3 has ``channel_depth=1024``."""

DYNAMIC = Profile(channel_depth=2, flops=6400)
"""Dynamic tiles, which the paper gives more operations a cycle."""

MULTIPLEXED = Profile(channel_depth=2, flops=1024)
"""Figs. 12 and 13."""


@dataclass(frozen=True)
class Layer:
    """Sizes of a mixture: ``hidden`` (D), ``inner`` (F), ``experts``, and ``columns`` of F in a tile of weights."""

    hidden: int
    inner: int
    experts: int
    columns: int = 64

    @property
    def steps(self) -> int:
        """Tiles of F."""
        return self.inner // self.columns


MIXTRAL = Layer(hidden=4096, inner=14336, experts=8)
QWEN = Layer(hidden=2048, inner=768, experts=128)


class Mixture:
    """The graph for a ``routing`` [tokens, k]: expert ids per token.

    ``rows``: of a static tile; None: tiles are dynamic. ``regions``: sets of operators that the experts share by turns
    of time; None: each has its own.
    """

    def __init__(self, layer: Layer, routing: np.ndarray, rows: int | None, regions: int | None = None) -> None:
        self.layer, self.routing, self.rows = layer, routing, rows
        self.regions = layer.experts if regions is None else regions
        self.graph = Graph("moe")
        self.inputs: dict[str, Any] = {"routing": routing[None], "choice": routing[None], "order": routing[None]}
        self._build()

    def _build(self) -> None:
        graph, layer = self.graph, self.layer
        tokens, chosen = self.routing.shape
        routing = graph.selectors("routing", layer.experts, [1, tokens])
        order = graph.selectors("order", layer.experts, [1, tokens])
        choice = graph.selectors("choice", layer.experts, [1, tokens, chosen])
        x = graph.load(graph.tensor("x", (tokens, layer.hidden), BF16), tile=(1, layer.hidden), name="load_x")
        routed = x.flatten(0, 1, name="x_rows").partition(routing, targets=layer.experts, name="route")
        score = graph.load(graph.tensor("score", (tokens, chosen), BF16), tile=(1, 1), name="load_score")
        scores = score.partition(choice, targets=layer.experts, name="route_scores")
        made = self._own(routed) if self.regions == layer.experts else self._shared(routed)
        weighted = [
            rows.assume_shape(each.shape).map(Mul(out=FP32), each, name=f"expert{n}_weighted")
            for n, (rows, each) in enumerate(zip(made, scores, strict=True))
        ]
        gathered = graph.reassemble(weighted, order, name="gather")
        gathered.accum(Add(), name="sum").reshape(1, name="row")[0].store("y")

    def _tiles(self, rows: Stream, prefix: str) -> Stream:
        """Rows [n] in tiles. The artifact adds a dimension around the chunks, which it sees the end of in the element
        that follows."""
        chunks = rows.reshape(self.rows, name=f"{prefix}chunks")[0] if self.rows else rows
        whole = chunks.promote(name=f"{prefix}whole")
        if self.rows:
            whole = whole.flatten(1, 2, name=f"{prefix}chunked").assume_shape(chunks.shape)
        return whole.accum(RetileRow(), name=f"{prefix}tiles")

    def _weights(self, experts: int, prefix: str) -> list[Tensor]:
        hidden, inner, graph = self.layer.hidden, experts * self.layer.inner, self.graph
        return [graph.tensor(f"{prefix}{name}", (hidden, inner), BF16) for name in ("up", "gate")] + [
            graph.tensor(f"{prefix}down", (inner, hidden), BF16)
        ]

    def _own(self, routed: Sequence[Stream]) -> list[Stream]:
        """Every expert with operators of its own."""
        made = []
        for number, rows in enumerate(routed):
            prefix = f"expert{number}_"
            tiles = self._tiles(rows, prefix)
            weights = self._weights(1, prefix)
            loads = [
                self.graph.load(
                    tensor,
                    tile=self._tile(tensor),
                    out=(self.layer.steps, 1),
                    stride=(1, 1),
                    reference=tiles,
                    name=f"{prefix}load_{n}",
                ).flatten(0, 1)
                for n, tensor in zip(("up", "gate", "down"), weights, strict=True)
            ]
            made.append(self._rows(self._expert(tiles, loads, prefix), prefix))
        return made

    def _shared(self, routed: Sequence[Stream]) -> list[Stream]:
        """Regions, each of which takes the tiles of some experts as they come."""
        made: list[Stream] = []
        many = self.layer.experts // self.regions
        for region in range(self.regions):
            prefix = f"region{region}_"
            mine = range(region * many, (region + 1) * many)
            tiles, which = self.graph.eager_merge(
                [self._tiles(routed[n], f"expert{n}_") for n in mine], name=f"{prefix}merged"
            )
            address = which.flat_map(ExpertTiles(many, self.layer.steps), name=f"{prefix}address")
            loads = [
                address.load_random(tensor, tile=self._tile(tensor), name=f"{prefix}load_{n}")
                for n, tensor in zip(("up", "gate", "down"), self._weights(many, prefix), strict=True)
            ]
            results = self._expert(tiles, loads, prefix).partition(which, targets=many, name=f"{prefix}results")
            made += [self._rows(each, f"expert{n}_") for n, each in zip(mine, results, strict=True)]
        return made

    def _tile(self, tensor: Tensor) -> tuple[int, int]:
        hidden, columns = self.layer.hidden, self.layer.columns
        return (
            (hidden, columns) if tensor.shape[0] == hidden and not tensor.name.endswith("down") else (columns, hidden)
        )

    def _expert(self, tiles: Stream, loads: Sequence[Stream], prefix: str) -> Stream:
        """Tiles [n] -> [n]."""
        up, gate, down = loads
        x = tiles.repeat(self.layer.steps, name=f"{prefix}x")
        up, gate, down = (each.assume_shape(x.shape) for each in (up, gate, down))
        ups = x.map(Matmul(), up, name=f"{prefix}up_projection")
        gates = x.map(Matmul(), gate, name=f"{prefix}gate_projection").map(Silu(out=BF16), name=f"{prefix}activation")
        state = gates.map(Mul(out=BF16), ups, name=f"{prefix}gated")
        return state.accum(Matmul(), down, name=f"{prefix}down_projection")

    def _rows(self, tiles: Stream, prefix: str) -> Stream:
        return tiles.flat_map(ValidRows(), name=f"{prefix}rows")


def symbols(routing: np.ndarray, experts: int, regions: int) -> dict[str, int]:
    """What the symbols of a `Mixture` stand for."""
    counts = np.bincount(routing.ravel(), minlength=experts)
    found = {f"{each}_D{n}": int(count) for each in ("route", "route_scores") for n, count in enumerate(counts)}
    merged = {f"region{n}_merged_rows": int(some.sum()) for n, some in enumerate(counts.reshape(regions, -1))}
    return found | merged | {"gather_selected": routing.size}
