"""Decoder layers, one behind the other, as programs; see `step_models.layer`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import sqrt
from typing import Any

import numpy as np

from step import BF16, UINT32, FabricConfig, Graph, Program, Stream, Tile
from step.errors import InputError
from step.programs.data.npz import Arrays
from step_models import attention, moe, swiglu
from step_models.attending import cache_tiles
from step_models.checking import require, workload
from step_models.configurations import Configuration
from step_models.kv_lengths import check_lengths
from step_models.layer import Layer, Schedule
from step_models.projection import norm_reference, random_scale
from step_models.routing import check_routing
from step_models.weights import Data, finished, normal, projection

TOLERANCE = 2**-7
"""Of a layer, relative to the largest output. A dozen roundings to BF16, each wrong by 2^-9 at most and by a third of
that on average, follow each other; they are independent, so their squares add up, in several layers as well."""


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
    """Layers, one behind the other, as many as there are ``routings`` [tokens, experts per token].

    ``lengths`` [tokens]: rows in the KV cache of every token's request, in all layers; ``room``: of a cache, by default
    as many tiles as the longest one needs. Without ``fabric`` it is the smallest one of the published evaluation's kind
    that has room for the tiles. Without ``values`` weights, activations and caches are zeros, which take no memory, and
    nothing is expected. Raises `InputError` for what does not fit.
    """
    lengths, schedule = check_lengths(lengths, room), schedule or Schedule()
    graph, layers = Graph(name), list[Layer]()
    if not isinstance(routings, Sequence | np.ndarray) or isinstance(routings, str | bytes):
        raise InputError(f"routings must be a list, one for each layer, not {routings!r}")
    require(len(routings), "a decoder must have at least one layer: give a routing for each of them")
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
        tiles = cache_tiles(lengths, schedule.cache_rows, room)
        layers.append(Layer(graph, model, schedule, len(lengths), tiles, prefix))
        rows = layers[-1].apply(rows, length.buffered(len(lengths) + 1))
    rows.store("output")
    cached = layers[0].attention.tiles if schedule.cache_rows is None else 1
    given = {"length": lengths}
    for layer, routing in zip(layers, routings, strict=True):
        given |= layer.mixture.routed(routing, np.zeros(routing.shape))
    data = partial(_data, layers, lengths, routings) if values else None
    return finished(graph, fabric, data, given, max(len(lengths), cached))


def _data(
    layers: Sequence[Layer], lengths: np.ndarray, routings: Sequence[np.ndarray], random: np.random.Generator
) -> Data:
    """Random weights, caches and activations, and the float64 results."""
    x = normal(random, len(lengths), layers[0].model.hidden)
    inputs: dict[str, Any] = {"x": x, "length": lengths}
    rows = x.astype(np.float64)
    for layer, routing in zip(layers, routings, strict=True):
        model, prefix = layer.model, layer.prefix
        data = {
            name: random_scale(random, model.hidden) if name.endswith("norm") else projection(random, *each.shape)
            for name, each in layer.tensors.items()
        }
        caches, room = {}, layer.attention.tiles * layer.attention.rows_in_memory
        every = np.repeat(lengths, model.key_value_heads)
        for name in ("keys", "values"):
            cache = attention.random_cache(random, every, len(every), room, model.head_size)
            caches[name] = cache.reshape(len(lengths), -1, room, model.head_size)
            inputs[f"{prefix}{name}"] = cache.reshape(-1, model.head_size)
        score = moe.random_scores(random, routing)
        weights = [swiglu.random_weights(random, model.hidden, model.inner) for _ in range(model.experts)]
        inputs |= {f"{prefix}{name}": each for name, each in data.items()}
        inputs |= layer.mixture.routed(routing, score) | layer.mixture.tensors(weights)
        mix = partial(moe.mixture_reference, routing=routing, score=score, weights=weights)
        rows = reference(model, rows, lengths, data | caches, mix)
    return inputs, {"output": (rows, sqrt(len(layers)) * TOLERANCE * np.abs(rows).max())}


def reference(
    model: Configuration, x: np.ndarray, lengths: np.ndarray, data: Arrays, mix: Callable[..., Any]
) -> np.ndarray:
    """A layer in float64 on rows ``x``, with the `moe.mixture_reference` that ``mix`` gives of rows.

    Caches are [tokens, key-value heads, rows, head size].
    """
    normed = norm_reference(x, data["attention_norm"], model.norm_epsilon)
    heads = len(x), model.key_value_heads, -1, model.head_size
    query, key, value = ((normed @ data[name].astype(np.float64)).reshape(heads) for name in ("wq", "wk", "wv"))
    attended = np.empty_like(query)
    for token, head in np.ndindex(heads[:2]):
        rows = (
            np.concatenate([data[name][token, head, : lengths[token]].astype(np.float64), new[token, head]])
            for name, new in (("keys", key), ("values", value))
        )
        attended[token, head], _ = attention.reference(query[token, head], *rows)
    between: np.ndarray = x + attended.reshape(len(x), -1) @ data["wo"].astype(np.float64)
    mixed, _ = mix(norm_reference(between, data["experts_norm"], model.norm_epsilon))
    return between + mixed
