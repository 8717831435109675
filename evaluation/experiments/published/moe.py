"""The graphs behind Figs. 9, 10, 12, 13, 19 and 20 of the paper: a mixture of SwiGLU experts.

Every expert gathers its rows into tiles, of a fixed number of rows or one of as many rows as there are, and reads its
weights once per tile, in tiles of ``columns`` columns of F.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.published.functions import ValidRows
from sim_published.profile import PublishedProfile
from step import BF16, FP32, Graph, Stream, Tensor
from step.functions import Add, ExpertTiles, Matmul, Mul, RetileRow, Silu
from step.ops.broadcast import Broadcast

STATIC = PublishedProfile(channel_depth=2, flops=4096)
"""Static tiles in Figs. 9 and 10; the batch of 1024 of Qwen3 has ``channel_depth=1024``."""

DYNAMIC = PublishedProfile(channel_depth=2, flops=6400)
"""Dynamic tiles, which the paper gives more operations a cycle."""

MULTIPLEXED = PublishedProfile(channel_depth=2, flops=1024)
"""Figs. 12 and 13."""


@dataclass(frozen=True)
class MixtureSizes:
    """Sizes of a mixture: ``hidden`` (D), ``inner`` (F), ``experts``, and ``columns`` of F in a tile of weights."""

    hidden: int
    inner: int
    experts: int
    columns: int = 64

    @property
    def steps(self) -> int:
        """Tiles of F."""
        return self.inner // self.columns


MIXTRAL = MixtureSizes(hidden=4096, inner=14336, experts=8)
QWEN = MixtureSizes(hidden=2048, inner=768, experts=128)


class MixtureGraph:
    """The graph for a ``routing`` [tokens, k]: expert ids per token.

    ``rows``: of a static tile; None: tiles are dynamic. ``regions``: sets of operators that the experts share by turns
    of time; None: each has its own.
    """

    def __init__(self, layer: MixtureSizes, routing: np.ndarray, rows: int | None, regions: int | None = None) -> None:
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
        made = self._own(routed) if self.regions == layer.experts else self._shared(routed)
        # Loads have ports of memory in the order of the graph.
        score = graph.load(graph.tensor("score", (tokens, chosen), BF16), tile=(1, 1), name="load_score")
        scores = score.partition(choice, targets=layer.experts, name="route_scores")
        weighted = [
            rows.assume_shape(each.shape).map(Mul(out=FP32), each, name=f"expert{n}_weighted")
            for n, (rows, each) in enumerate(zip(made, scores, strict=True))
        ]
        gathered = graph.reassemble(weighted, order, name="gather")
        gathered.accum(Add(), name="sum").reshape(1, name="row")[0].store("y")

    def _tiles(self, rows: Stream, prefix: str) -> Stream:
        """Rows [n] in tiles. The artifact's Reshape adds the dimension around its chunks itself; a dynamic tile is made
        of all its chunks of one row."""
        chunks = rows.reshape(self.rows or 1, name=f"{prefix}chunks")[0]
        whole = chunks.promote(name=f"{prefix}whole")
        if self.rows:
            whole = whole.flatten(1, 2, name=f"{prefix}chunked").assume_shape(chunks.shape)
        else:
            whole = whole.flatten(0, 1, name=f"{prefix}chunked")
        return whole.accum(RetileRow(), name=f"{prefix}tiles")

    def _weights(self, experts: int, prefixes: Sequence[str]) -> Iterator[list[Tensor]]:
        """Weights of all prefixes: those of the up projection, then of the gate, then of the way down."""
        hidden, inner = self.layer.hidden, experts * self.layer.inner
        for name, shape in (("up", (hidden, inner)), ("gate", (hidden, inner)), ("down", (inner, hidden))):
            yield [self.graph.tensor(f"{prefix}{name}", shape, BF16) for prefix in prefixes]

    def _own(self, routed: Sequence[Stream]) -> list[Stream]:
        """Every expert with operators of its own."""
        prefixes = [f"expert{number}_" for number in range(len(routed))]
        tiles = [self._tiles(rows, prefix) for rows, prefix in zip(routed, prefixes, strict=True)]
        loads = [
            [
                self.graph.load(
                    tensor,
                    tile=self._tile(tensor),
                    out=(self.layer.steps, 1),
                    stride=(1, 1),
                    reference=reference,
                    name=f"load_{tensor.name}",
                ).flatten(0, 1)
                for tensor, reference in zip(weights, tiles, strict=True)
            ]
            for weights in self._weights(1, prefixes)
        ]
        return [
            self._rows(self._expert(prefix, *each), prefix)
            for *each, prefix in zip(tiles, *loads, prefixes, strict=True)
        ]

    def _shared(self, routed: Sequence[Stream]) -> list[Stream]:
        """Regions, each of which takes the tiles of some experts as they come."""
        many = self.layer.experts // self.regions
        tiles = [self._tiles(rows, f"expert{number}_") for number, rows in enumerate(routed)]
        prefixes = [f"region{region}_" for region in range(self.regions)]
        merged = [
            self.graph.eager_merge(tiles[region * many : (region + 1) * many], name=f"{prefix}merged")
            for region, prefix in enumerate(prefixes)
        ]
        addresses = [
            which.flat_map(ExpertTiles(many, self.layer.steps), name=f"{prefix}address")
            for (_, which), prefix in zip(merged, prefixes, strict=True)
        ]
        loads = [
            [
                self._passed(address.load_random(tensor, tile=self._tile(tensor), name=f"load_{tensor.name}"))
                for tensor, address in zip(weights, addresses, strict=True)
            ]
            for weights in self._weights(many, prefixes)
        ]
        made: list[Stream] = []
        for (mine, which), *weights, prefix in zip(merged, *loads, prefixes, strict=True):
            results = self._expert(prefix, mine, *weights).partition(which, targets=many, name=f"{prefix}results")
            made += [self._rows(each, f"expert{len(made) + n}_") for n, each in enumerate(results)]
        return made

    def _passed(self, tiles: Stream) -> Stream:
        """Stream in the shape that it has already; the artifact flattens it, so the hop is there all the same."""
        hop, _ = self.graph.add(Broadcast(2), [tiles], name=f"{tiles.producer}_flat")
        return hop

    def _tile(self, tensor: Tensor) -> tuple[int, int]:
        hidden, columns = self.layer.hidden, self.layer.columns
        return (columns, hidden) if tensor.name.endswith("down") else (hidden, columns)

    def _expert(self, prefix: str, tiles: Stream, *weights: Stream) -> Stream:
        """Tiles [n] -> [n]."""
        x = tiles.repeat(self.layer.steps, name=f"{prefix}x")
        up, gate, down = (each.assume_shape(x.shape) for each in weights)
        ups = x.map(Matmul(), up, name=f"{prefix}up_projection")
        gates = x.map(Matmul(), gate, name=f"{prefix}gate_projection").map(Silu(out=BF16), name=f"{prefix}activation")
        state = gates.map(Mul(out=BF16), ups, name=f"{prefix}gated")
        return state.accum(Matmul(), down, name=f"{prefix}down_projection")

    def _rows(self, tiles: Stream, prefix: str) -> Stream:
        return tiles.flat_map(ValidRows(), name=f"{prefix}rows")


def symbols(routing: np.ndarray, experts: int, regions: int) -> dict[str, int]:
    """Values of the symbols of a `MixtureGraph`."""
    counts = np.bincount(routing.ravel(), minlength=experts)
    found = {f"{each}_D{n}": int(count) for each in ("route", "route_scores") for n, count in enumerate(counts)}
    merged = {f"region{n}_merged_rows": int(some.sum()) for n, some in enumerate(counts.reshape(regions, -1))}
    return found | merged | {"gather_selected": routing.size}
