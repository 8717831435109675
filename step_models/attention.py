"""Decode attention over ragged KV caches, with grouped queries.

Every request gets one new token. For each of its KV heads there is a tile of query rows, one for each query head of the
group that shares it, and a cache of keys and values, whose length differs from request to request. A KV head of a
request is called a sequence here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import sqrt

import numpy as np

from step import UINT32, FabricConfig, Graph, Program, Tile
from step.language.fused import Sum
from step_models.arrivals import check_gaps, paced
from step_models.attending import Arrangement, Attention, cache_tiles
from step_models.checking import workload
from step_models.kv_lengths import check_lengths
from step_models.weights import Data, finished, normal


@workload
def program(
    lengths: np.ndarray,
    *,
    arrangement: Arrangement = "dynamic",
    regions: int = 3,
    heads: int = 2,
    group: int = 4,
    size: int = 16,
    rows: int | None = 4,
    room: int | None = None,
    places: int | None = None,
    block: int | None = None,
    assigned: Sequence[int] | None = None,
    online: bool = True,
    scaled: bool = True,
    sum: Sum = "ordered",
    gaps: np.ndarray | None = None,
    fabric: FabricConfig | None = None,
    values: bool = True,
    name: str = "attention",
) -> Program:
    """Attention for requests with ``lengths`` [requests] rows in the cache of each of their ``heads`` KV heads.

    The caches have ``room`` rows for each of them, as many tiles as the longest one needs unless given, and ``places``
    for so many requests, those that there are unless given. With ``gaps`` [requests] each request comes so many cycles
    behind the one before it, at least 1; without, as fast as it is taken. All else is as in `Attention`.

    Without ``fabric`` it is the smallest one of the published evaluation's kind that has room for the tiles. Without
    ``values`` all data but lengths and gaps is zeros, which take no memory, and nothing is expected. Raises
    `InputError` for what does not fit.
    """
    lengths = check_lengths(lengths, room)
    tiles = cache_tiles(lengths, rows, room)
    graph = Graph(name)
    caches, at_once = (len(lengths) * heads, tiles, rows, size, group), (regions, arrangement, block, assigned)
    held = None if places is None else places * heads
    attention = Attention(graph, *caches, *at_once, online=online, scaled=scaled, places=held, sum=sum)
    length = graph.source("length", Tile(UINT32), [len(lengths)])
    given = {"length": lengths}
    if gaps is not None:
        given["gap"] = check_gaps(gaps, len(lengths))
        length = paced(graph, length)
    every = length.repeat(heads, name="heads").flatten(0, 1, name="lengths")
    attention.store(attention.results(attention.append(every, attention.load_new)))
    data = partial(_data, attention, given, heads) if values else None
    return finished(graph, fabric, data, given, tiles if rows is None else 1)


def _data(attention: Attention, given: dict[str, np.ndarray], heads: int, random: np.random.Generator) -> Data:
    """Random queries, keys and values, the float64 result, and the caches with the new rows."""
    lengths = np.repeat(given["length"], heads)
    sequences, size, query_rows = attention.sequences, attention.size, attention.sequences * attention.group
    inputs = {**given, "query": normal(random, query_rows, size), "output": np.zeros((query_rows, size))}
    caches = {}
    for name in ("keys", "values"):
        cache = random_cache(random, lengths, attention.held, attention.tiles * attention.rows_in_memory, size)
        new = normal(random, sequences, size)
        inputs |= {name: cache.reshape(-1, size), f"new_{name}": new}
        caches[name] = cache.astype(np.float64)
        caches[name][np.arange(sequences), lengths] = new
    query = inputs["query"].astype(np.float64).reshape(sequences, -1, size)
    expected, bound = np.empty_like(query), np.empty_like(query)
    for sequence, length in enumerate(lengths + 1):
        key, value = (caches[name][sequence, :length] for name in ("keys", "values"))
        expected[sequence], bound[sequence] = reference(query[sequence], key, value, scaled=attention.scaled)
    exact = {name: (each.reshape(-1, size), np.zeros(1)) for name, each in caches.items()}
    return inputs, {"output": (expected.reshape(-1, size), bound), **exact}


def random_cache(random: np.random.Generator, lengths: np.ndarray, *shape: int) -> np.ndarray:
    """Random rows [places, rows, size] of a cache, of which the first places have so many (``lengths``)."""
    cache = normal(random, *shape)
    for sequence, length in enumerate(lengths):
        cache[sequence, length:] = 0
    return cache


def reference(
    query: np.ndarray, key: np.ndarray, value: np.ndarray, *, scaled: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Attention in float64 [group, size], and a bound on the error of the BF16 program per element.

    Weights are rounded to BF16, so each is wrong by 2^-9 of itself at most: that moves the mean of the values by as
    much of their mean distance from it. Scores in FP32 and exponentials by table, of which each is wrong by 2^-18, add
    less than 2^-12, and the sums and the quotient less than 2^-16 of the mean magnitude of the values.
    """
    score = query @ key.T / (sqrt(query.shape[1]) if scaled else 1)
    weight = np.exp(score - score.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    mean = weight @ value
    distance = np.abs(value - mean[:, None])  # [group, rows, size]
    return mean, (2**-9 + 2**-12) * (weight[:, None] @ distance)[:, 0] + 2**-16 * (weight @ np.abs(value))
