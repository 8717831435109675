"""Decoder layers: norm, attention, norm and a mixture of experts, each pair with a residual around it.

A token is a row; a batch of them, one of each request, goes through a layer row by row, and through several layers one
behind the other. What is missing of the models: rotary position embedding, and the norms of queries and keys of Qwen3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from step import BF16, UINT32, FabricConfig, Graph, Program, Stream, Tile
from step.errors import InputError
from step.functions import Add, Cast, RetileCol
from step.language.arguments import Checked
from step.language.fused import Sum
from step.language.parameters import settle_parameters
from step_models import attention, moe, swiglu
from step_models.attention import Attention, cache_tiles
from step_models.checking import workload
from step_models.configurations import Configuration
from step_models.division import check_divides
from step_models.fabrics import fitting
from step_models.kv_lengths import check_lengths
from step_models.moe import Mixture
from step_models.projection import (
    batch_of_rows,
    columns_of_tiles,
    norm_reference,
    project,
    random_scale,
    rms_norm,
    rows_of_tiles,
    tiles_of_rows,
)
from step_models.routing import check_routing
from step_models.weights import blank_tensors, normal, projection

TOLERANCE = 2**-7
"""Of a layer, relative to the largest output. A dozen roundings to BF16, each wrong by 2^-9 at most and by a third of
that on average, follow each other; they are independent, so their squares add up, in several layers as well."""


@dataclass(frozen=True)
class Schedule(metaclass=Checked):
    """How a layer is laid out: extents of tiles, and regions.

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
    arrangement: attention.Arrangement = "dynamic"
    held: bool = False
    sum: Sum = "ordered"

    refused: ClassVar = InputError

    def __post_init__(self) -> None:
        settle_parameters(self)

    def depth_of(self, extent: int) -> int:
        """The extent of tiles along the rows of a weight with so many."""
        return extent if self.depth is None else self.depth


class Layer:
    """One layer as a part of ``graph``, for as many tokens as there are ``lengths`` of their KV caches.

    All names begin with ``prefix``. Raises `InputError` for what does not fit.
    """

    def __init__(
        self,
        graph: Graph,
        model: Configuration,
        schedule: Schedule,
        lengths: np.ndarray,
        room: int | None = None,
        prefix: str = "",
    ) -> None:
        tiles = cache_tiles(lengths, schedule.cache_rows, room)
        check_divides("rows, the rows of a tile,", schedule.rows, "the number of tokens", len(lengths))
        width = model.query_heads * model.head_size
        for what, extent in (("hidden", model.hidden), ("query_heads * head_size", width)):
            check_divides("depth, the extent of a weight tile along its rows,", schedule.depth_of(extent), what, extent)
            check_divides("columns, the extent of a weight tile,", schedule.columns, what, extent)
        narrow = model.key_value_heads * model.head_size
        check_divides("columns, the extent of a weight tile,", schedule.columns, "key_value_heads * head_size", narrow)
        self.graph, self.model, self.schedule, self.prefix = graph, model, schedule, prefix
        self.tokens = len(lengths)
        self.attention = Attention(
            graph,
            self.tokens * model.key_value_heads,
            tiles,
            schedule.cache_rows,
            model.head_size,
            model.group,
            schedule.regions,
            schedule.arrangement,
            in_memory=False,
            prefix=prefix,
            sum=schedule.sum,
        )
        self.mixture = Mixture(
            model.experts,
            model.hidden,
            model.inner,
            schedule.expert_rows,
            schedule.depth_of(model.hidden),
            schedule.columns,
            schedule.expert_regions,
            prefix,
            schedule.sum,
        )
        self.tensors = {
            name: graph.tensor(f"{prefix}{name}", shape, BF16)
            for name, shape in (
                ("attention_norm", (1, model.hidden)),
                ("wq", (model.hidden, width)),
                ("wk", (model.hidden, narrow)),
                ("wv", (model.hidden, narrow)),
                ("wo", (width, model.hidden)),
                ("experts_norm", (1, model.hidden)),
            )
        }

    def apply(self, x: Stream, length: Stream) -> Stream:
        """Rows ``x`` [tokens] of BF16 tiles [1, hidden] -> the same behind the layer; ``length`` [tokens] of caches."""
        prefix, room = self.prefix, self.tokens + 1
        attended = x.buffered(room).map(Add(out=BF16), self._attend(x, length), name=f"{prefix}attention_residual")
        normed = self._normed(attended, "experts")
        rows = self._rows(normed, "routed")
        mixed = self.mixture.apply(self.graph, rows, self.model.experts_per_token)
        result: Stream = attended.buffered(room).map(
            Add(out=BF16), mixed.assume_shape(attended.shape), name=f"{prefix}experts_residual"
        )
        return result

    def _normed(self, x: Stream, name: str) -> Stream:
        """A batch of tiles of the rows ``x``, normed."""
        name = f"{self.prefix}{name}"
        tiles = batch_of_rows(x, self.schedule.rows, name=name)
        scale = self.tensors[f"{name.removeprefix(self.prefix)}_norm"]
        return rms_norm(self.graph, tiles, scale, self.model.norm_epsilon, prefix=f"{name}_")

    def _attend(self, x: Stream, length: Stream) -> Stream:
        """What attention and its projections make of the rows ``x``."""
        prefix, model = self.prefix, self.model
        normed = self._normed(x, "attention")
        heads = {
            name: columns_of_tiles(
                self._rows(self._project(normed, f"w{name}"), name),
                model.head_size,
                name=f"{prefix}{name}",
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
        split = rows_of_tiles(tiles, name=f"{self.prefix}{name}")
        rows: Stream = split.flatten(0, 1, name=f"{self.prefix}{name}_each")
        return rows

    def _project(self, x: Stream, name: str) -> Stream:
        weight, schedule = self.tensors[name], self.schedule
        depth = schedule.depth_of(int(weight.shape[0]))
        columns, held = schedule.columns, schedule.held
        return project(self.graph, x, weight, depth=depth, columns=columns, held=held, sum=schedule.sum)


@workload
def program(
    model: Configuration,
    lengths: np.ndarray,
    routings: Sequence[np.ndarray],
    schedule: Schedule | None = None,
    *,
    room: int | None = None,
    fabric: FabricConfig | None = None,
    values: bool = True,
    name: str = "decoder",
) -> Program:
    """As many layers, one behind the other, as there are ``routings`` [tokens, experts per token].

    ``lengths`` [tokens]: rows in the KV cache of every token's request, in all layers; ``room``: of a cache, by default
    as many tiles as the longest one needs. Without ``fabric`` it is the smallest one of the published evaluation's kind
    that has room for the tiles. Without ``values`` weights, activations and caches are zeros, which take no memory, and
    nothing is expected. Raises `InputError` for what does not fit.
    """
    lengths, schedule = check_lengths(lengths, room), schedule or Schedule()
    graph, layers = Graph(name), list[Layer]()
    _check_routings(routings)
    if not len(routings):
        raise InputError("a decoder must have at least one layer: give a routing for each of them")
    routings = [
        check_routing(each, model.experts, model.experts_per_token, name=f"routing of layer {number}")
        for number, each in enumerate(routings)
    ]
    for number, routing in enumerate(routings):
        if len(routing) != len(lengths):
            raise InputError(
                f"routing of layer {number} must have a row for each of the {len(lengths)} KV lengths, "
                f"not {len(routing)}"
            )
    x = graph.load(graph.tensor("x", (len(lengths), model.hidden), BF16), tile=(1, model.hidden), name="load_x")
    length = graph.source("length", Tile(UINT32), [len(lengths)])
    rows: Stream = x.flatten(0, 2, name="x_rows")
    for number in range(len(routings)):
        prefix = f"layer{number}_" if len(routings) > 1 else ""
        layers.append(Layer(graph, model, schedule, lengths, room, prefix))
        rows = layers[-1].apply(rows, length.buffered(len(lengths) + 1))
    rows.store("output")
    cached = layers[0].attention.tiles if schedule.cache_rows is None else 1
    fabric = fitting(graph, rows=max(len(lengths), cached)) if fabric is None else fabric
    if values:
        return _with_data(layers, lengths, routings, fabric)
    inputs: dict[str, Any] = blank_tensors(graph) | {"length": lengths}
    for layer, routing in zip(layers, routings, strict=True):
        inputs |= layer.mixture.routed(routing, np.zeros(routing.shape))
    return Program(graph, inputs, fabric)


@workload
def each_layer(
    model: Configuration,
    lengths: np.ndarray,
    routings: Sequence[np.ndarray],
    schedule: Schedule | None = None,
    *,
    room: int | None = None,
    fabric: FabricConfig | None = None,
) -> Iterator[Program]:
    """A program without values for every layer of its own, as where a fabric runs one layer after the other."""
    _check_routings(routings)
    return (
        program(
            model, lengths, [routing], schedule, room=room, fabric=fabric, values=False, name=f"decoder_layer{number}"
        )
        for number, routing in enumerate(routings)
    )


def _check_routings(routings: Sequence[np.ndarray]) -> None:
    """Raise `InputError` for what is no list."""
    if not isinstance(routings, Sequence | np.ndarray) or isinstance(routings, str | bytes):
        raise InputError(f"routings must be a list, one for each layer, not {routings!r}")


def _with_data(
    layers: Sequence[Layer], lengths: np.ndarray, routings: Sequence[np.ndarray], fabric: FabricConfig
) -> Program:
    """Random weights, caches and activations, and the float64 results."""
    random = np.random.default_rng(0)
    x = normal(random, len(lengths), layers[0].model.hidden)
    inputs: dict[str, Any] = {"x": x, "length": lengths}
    expected, rows = dict[str, np.ndarray](), x.astype(np.float64)
    for layer, routing in zip(layers, routings, strict=True):
        model, prefix = layer.model, layer.prefix
        data = {
            name: random_scale(random, model.hidden) if name.endswith("norm") else projection(random, *each.shape)
            for name, each in layer.tensors.items()
        }
        caches = {}
        for name in ("keys", "values"):
            cache = normal(random, len(lengths), model.key_value_heads, _room(layer), model.head_size)
            for token, length in enumerate(lengths):
                cache[token, :, length:] = 0
            caches[name] = cache
            inputs[f"{prefix}{name}"] = cache.reshape(-1, model.head_size)
        score = moe.random_scores(random, routing)
        weights = [swiglu.random_weights(random, model.hidden, model.inner) for _ in range(model.experts)]
        inputs |= {f"{prefix}{name}": each for name, each in data.items()}
        inputs |= layer.mixture.routed(routing, score) | layer.mixture.tensors(weights)
        rows = reference(model, rows, lengths, data, caches, routing, score, weights)
    expected["output"] = rows
    return Program(layers[0].graph, inputs, fabric, expected=expected, tolerance=sqrt(len(layers)) * TOLERANCE)


def _room(layer: Layer) -> int:
    return layer.attention.tiles * layer.attention.rows_in_memory


def reference(
    model: Configuration,
    x: np.ndarray,
    lengths: np.ndarray,
    data: dict[str, np.ndarray],
    caches: dict[str, np.ndarray],
    routing: np.ndarray,
    score: np.ndarray,
    weights: Sequence[dict[str, np.ndarray]],
) -> np.ndarray:
    """A layer in float64 on rows ``x``; ``caches`` are [tokens, key-value heads, rows, head size]."""
    normed = norm_reference(x, data["attention_norm"], model.norm_epsilon)
    query, key, value = (normed @ data[name].astype(np.float64) for name in ("wq", "wk", "wv"))
    attended = np.empty((len(x), model.query_heads, model.head_size))
    for token, length in enumerate(lengths):
        for head in range(model.key_value_heads):
            group = slice(head * model.group, (head + 1) * model.group)
            rows = {
                name: np.concatenate(
                    [
                        caches[name][token, head, :length].astype(np.float64),
                        new[token].reshape(-1, model.head_size)[head : head + 1],
                    ]
                )
                for name, new in (("keys", key), ("values", value))
            }
            queries = query[token].reshape(-1, model.head_size)[group]
            attended[token, group], _ = attention.reference(queries, rows["keys"], rows["values"])
    between: np.ndarray = x + attended.reshape(len(x), -1) @ data["wo"].astype(np.float64)
    mixed, _ = moe.mixture_reference(
        norm_reference(between, data["experts_norm"], model.norm_epsilon), routing, score, weights
    )
    result: np.ndarray = between + mixed
    return result
