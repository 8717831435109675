"""Decode attention over ragged KV caches, in the form of FlashAttention.

Every request gets one new token. For each of its KV heads there is a tile of query rows, one for each query head of the
group that shares it, and a cache of keys and values, whose length differs from request to request. The new row is
appended to the cache, and then attention reads that tile by tile.

A KV head of a request is called a sequence here. Sequences are independent, so several regions of the fabric work at
the same time. They get them by turns (`interleaved`), or whenever they are free (`parallel`): then a long one delays
nobody else.
"""

from __future__ import annotations

from itertools import count
from math import sqrt
from pathlib import Path

import ml_dtypes
import numpy as np

from step import BF16, FP32, UINT32, FabricConfig, Graph, MemoryConfig, Program, Stream, Tensor, Tile
from step.errors import FormatError
from step.functions import (
    Add,
    AppendRow,
    CacheEnd,
    CacheRows,
    CacheTiles,
    Div,
    Exp,
    FilterLastTile,
    Matmul,
    Max,
    MulAdd,
    RowMax,
    RowSum,
    Scale,
    Sub,
)
from step.library import parallelize

TRACE = Path(__file__).parent / "data" / "azure_conv_b16.npy"
SCALE = 128
"""Lengths of the trace are divided by this and rounded down, so that a simulation takes seconds."""


class Attention:
    """Attention as a part of ``graph``: ``sequences`` with room for ``tiles`` tiles of ``rows`` rows in their caches.

    A row has ``size`` scalars, and ``group`` query rows share a sequence.
    """

    def __init__(self, graph: Graph, sequences: int, tiles: int, rows: int, size: int, group: int) -> None:
        self.graph, self.sequences, self.tiles, self.rows = graph, sequences, tiles, rows
        self.size, self.group = size, group
        self.keys = graph.tensor("keys", (sequences * tiles * rows, size), BF16)
        self.values = graph.tensor("values", (sequences * tiles * rows, size), BF16)
        self.query = graph.tensor("query", (sequences * group, size), BF16)
        self.output = graph.tensor("output", (sequences * group, size), FP32)
        self.regions = count()

    def append(self, length: Stream) -> Stream:
        """The number of every sequence and its ``length`` with the new row [sequences], once that is in the cache."""
        graph = self.graph
        sequence = graph.count([self.sequences], name="sequence")
        end = sequence.map(CacheEnd(self.sequences, self.tiles, self.rows), length, name="end")
        stored = self._store(self.keys, end, length).zip(self._store(self.values, end, length), name="stored")
        one = graph.constant(1, dtype=UINT32, reference=length, name="one")
        # The numbers are counted along the acknowledgements, so whoever has one finds the new row.
        ready = graph.count(reference=stored, name="ready")
        work: Stream = ready.zip(length.map(Add(), one, name="longer"), name="work")
        return work

    def _store(self, cache: Tensor, end: Stream, length: Stream) -> Stream:
        """Read the last tile of every sequence, append the new row, and store it; acknowledgements."""
        name = cache.name
        new = self.graph.tensor(f"new_{name}", (self.sequences, self.size), BF16)
        row = self.graph.load(new, tile=(1, self.size), name=f"load_new_{name}").flatten(0, 2, name=f"new_{name}_rows")
        tile = end.load_random(cache, tile=(self.rows, self.size), name=f"load_last_{name}")
        longer = tile.map(AppendRow(), length, row, name=f"append_{name}")
        stored: Stream = longer.store_random(cache, end, name=f"store_{name}")
        return stored

    def attend(self, work: Stream) -> tuple[Stream, Stream]:
        """A region: of sequences and lengths [n] these sequences with their results [n], tiles [group, size].

        The second stream is one of keys [n, tiles]: behind the last one of a sequence the next sequence can begin.

        What the largest score is shows at the end. Until then weights are relative to the largest one so far, and where
        that grows, the sums shrink.
        """
        prefix, tile = f"region{next(self.regions)}_", (self.rows, self.size)
        sequence, length = work.item_of(0, name=f"{prefix}sequence"), work.item_of(1, name=f"{prefix}length")
        tiles = CacheTiles(self.sequences, self.tiles, self.rows)
        address = sequence.flat_map(tiles, length, name=f"{prefix}address")  # [n, tiles], as all up to the sums
        valid = length.flat_map(CacheRows(self.rows), name=f"{prefix}valid").assume_shape(address.shape)
        key = address.load_random(self.keys, tile=tile, name=f"{prefix}key")
        value = address.load_random(self.values, tile=tile, name=f"{prefix}value")
        query = sequence.load_random(self.query, tile=(self.group, self.size), name=f"{prefix}query")
        queries = query.reshape(1, name=f"{prefix}query_row")[0].expand(key, name=f"{prefix}queries")

        product = queries.map(Matmul(transposed=True), key, name=f"{prefix}product")  # tiles [group, rows]
        score = product.map(Scale(1 / sqrt(self.size)), name=f"{prefix}score")
        score = score.map(FilterLastTile(-np.inf, "col"), valid, name=f"{prefix}valid_score")
        largest = score.map(RowMax(), name=f"{prefix}largest")  # [group, 1]
        now = largest.scan(Max(), name=f"{prefix}now")
        before = largest.scan(Max(), exclusive=True, name=f"{prefix}before")
        shrink = before.map(Sub(), now, name=f"{prefix}growth").map(Exp(), name=f"{prefix}shrink")
        weight = score.map(Sub(), now, name=f"{prefix}relative").map(Exp(out=BF16), name=f"{prefix}weight")

        part = weight.map(Matmul(), value, name=f"{prefix}part")  # [group, size]
        total = shrink.accum(MulAdd(), part, name=f"{prefix}total")  # [n], as all behind it
        weights = shrink.accum(MulAdd(), weight.map(RowSum(), name=f"{prefix}weight_sum"), name=f"{prefix}weights")
        result = total.map(Div(), weights, name=f"{prefix}result")
        # Some sequences are on their way at the same time; their numbers wait for the results.
        return sequence.buffered(4).zip(result, name=f"{prefix}results"), key

    def store(self, results: Stream) -> None:
        """Put the results of sequences, in any order, into the output."""
        sequence, result = results.item_of(0, name="place"), results.item_of(1, name="result")
        result.store_random(self.output, sequence, name="store_output").sink("stored_output")


def build(
    lengths: np.ndarray,
    *,
    dynamic: bool,
    regions: int = 3,
    heads: int = 2,
    group: int = 4,
    size: int = 16,
    rows: int = 4,
) -> Program:
    """Attention for requests with ``lengths`` [requests] rows in the cache of each of their ``heads`` KV heads."""
    graph = Graph("attention_parallel" if dynamic else "attention_interleaved")
    tiles = int(lengths.max()) // rows + 1
    attention = Attention(graph, len(lengths) * heads, tiles, rows, size, group)
    length = graph.source("length", Tile(UINT32), [len(lengths)])
    work = attention.append(length.repeat(heads, name="heads").flatten(0, 1, name="lengths"))
    if dynamic:
        attention.store(parallelize(work, attention.attend, regions=regions))
    else:
        turns = graph.turns(regions, reference=work, name="turns")
        parts = work.partition(turns, targets=regions, name="parts")
        attention.store(graph.eager_merge([attention.attend(each)[0] for each in parts], name="merge")[0])
    return _with_data(attention, lengths, heads)


def _with_data(attention: Attention, lengths: np.ndarray, heads: int) -> Program:
    """Random queries, keys and values, the float64 result, and the caches with the new rows."""
    random = np.random.default_rng(0)
    sequences, size, query_rows = attention.sequences, attention.size, attention.sequences * attention.group

    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal(shape).astype(ml_dtypes.bfloat16)

    inputs = {"length": lengths, "query": normal(query_rows, size), "output": np.zeros((query_rows, size))}
    caches = {}
    for name in ("keys", "values"):
        cache, new = normal(sequences, attention.tiles * attention.rows, size), normal(sequences, size)
        for sequence, length in enumerate(np.repeat(lengths, heads)):
            cache[sequence, length:] = 0
        inputs |= {name: cache.reshape(-1, size), f"new_{name}": new}
        caches[name] = cache.astype(np.float64)
        caches[name][np.arange(sequences), np.repeat(lengths, heads)] = new
    query = inputs["query"].astype(np.float64).reshape(sequences, -1, size)
    expected, bound = np.empty_like(query), np.empty_like(query)
    for sequence, length in enumerate(np.repeat(lengths, heads) + 1):
        key, value = (caches[name][sequence, :length] for name in ("keys", "values"))
        expected[sequence], bound[sequence] = reference(query[sequence], key, value)
    return Program(
        attention.graph,
        inputs,
        FabricConfig(matmul_lanes=4, vector_lanes=4, link_bytes=32, memory=MemoryConfig(beat_bytes=32)),
        expected={name: each.reshape(-1, size) for name, each in {"output": expected, **caches}.items()},
        tolerance=float(bound.max() / np.abs(expected).max()),
    )


def reference(query: np.ndarray, key: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Attention in float64 [group, size], and a bound on the error of the BF16 program per element.

    Weights are rounded to BF16, so each is wrong by 2^-9 of itself at most: that moves the mean of the values by as
    much of their mean distance from it. Scores in FP32 and exponentials by table, of which each is wrong by 2^-18, add
    less than 2^-12, and the sums and the quotient less than 2^-16 of the mean magnitude of the values.
    """
    score = query @ key.T / sqrt(query.shape[1])
    weight = np.exp(score - score.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    mean = weight @ value
    distance = np.abs(value - mean[:, None])  # [group, rows, size]
    return mean, (2**-9 + 2**-12) * (weight[:, None] @ distance)[:, 0] + 2**-16 * (weight @ np.abs(value))


def read_lengths(path: Path) -> np.ndarray:
    """KV lengths in rows, [requests]; raises `FormatError` for a file of another form."""
    try:
        lengths = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise FormatError(f"{path} is no .npy file with KV lengths: {error}") from None
    if not isinstance(lengths, np.ndarray) or lengths.ndim != 1 or lengths.dtype.kind not in "iu" or not lengths.size:
        found = f"{lengths.dtype} {list(lengths.shape)}" if isinstance(lengths, np.ndarray) else "an archive"
        raise FormatError(f"{path} must have integers [requests] for at least one request, not {found}")
    if lengths.min() < 0:
        raise FormatError(f"{path}: KV lengths must be at least 0, not {lengths.min()}")
    return lengths


def interleaved() -> Program:
    """Three regions get sequences by turns."""
    return build(read_lengths(TRACE) // SCALE, dynamic=False)


def parallel() -> Program:
    """A sequence goes to whichever of three regions is free."""
    return build(read_lengths(TRACE) // SCALE, dynamic=True)


def program() -> Program:
    """The dynamic arrangement."""
    return parallel()
