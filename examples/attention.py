"""Decode attention over ragged KV caches, in the form of FlashAttention.

Every request gets one new token. For each of its KV heads there is a tile of query rows, one for each query head of the
group that shares it, and a cache of keys and values, whose length differs from request to request. The new row is
appended to the cache, and attention reads that tile by tile.

KV heads of requests are called sequences. They are independent, so several regions of the fabric work at the same time.
A region gets them by turns (`interleaved`), or whenever it is free (`parallel`): a long one then delays nobody else.
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
"""Lengths of the trace are divided by this, rounded down, so that a simulation takes seconds."""


class Attention:
    """A program under construction: ``sequences`` with room for ``tiles`` tiles of ``rows`` rows each.

    A row has ``size`` scalars, and ``group`` query rows share a sequence.
    """

    def __init__(self, graph: Graph, sequences: int, tiles: int, rows: int, size: int, group: int) -> None:
        self.graph, self.sequences, self.tiles, self.rows = graph, sequences, tiles, rows
        self.size, self.group = size, group
        self.query = graph.tensor("query", (sequences * group, size), BF16)
        self.keys = graph.tensor("keys", (sequences * tiles * rows, size), BF16)
        self.values = graph.tensor("values", (sequences * tiles * rows, size), BF16)
        self.regions = count()

    def appended(self, length: Stream) -> Stream:
        """The number of each sequence and its ``length`` [sequences] with the new row, once that is in the cache."""
        graph = self.graph
        where = graph.count([self.sequences], name="sequence").map(
            CacheEnd(self.sequences, self.tiles, self.rows), length, name="end"
        )
        stored = self._append(self.keys, where, length).zip(self._append(self.values, where, length), name="stored")
        one = graph.constant(1, dtype=UINT32, reference=length, name="one")
        longer = length.map(Add(), one, name="longer")
        ready = graph.count(reference=stored, name="ready")
        work: Stream = ready.zip(longer.buffered(8), name="work")
        return work

    def _append(self, cache: Tensor, where: Stream, length: Stream) -> Stream:
        """Put the new row into the last tile of each sequence; its acknowledgements."""
        name = cache.name
        new = self.graph.tensor(f"new_{name}", (self.sequences, self.size), BF16)
        row = self.graph.load(new, tile=(1, self.size), name=f"load_new_{name}").flatten(0, 2, name=f"new_{name}_rows")
        last = where.load_random(cache, tile=(self.rows, self.size), name=f"last_{name}")
        tile = last.map(AppendRow(), length.buffered(8), row, name=f"append_{name}")
        stored: Stream = tile.store_random(cache, where.buffered(8), name=f"store_{name}")
        return stored

    def attend(self, work: Stream) -> tuple[Stream, Stream]:
        """A region: for sequences and lengths [n] these sequences with their results [n], tiles [group, size].

        The second stream has the keys [n, tiles]. Behind the last ones of a sequence the next one can begin.

        The maximum of the scores is known at the end only. Until then weights are relative to the largest score so
        far, and where that grows, the sums that are there are scaled down.
        """
        prefix = f"region{next(self.regions)}_"
        sequence, length = work.item_of(0, name=f"{prefix}sequence"), work.item_of(1, name=f"{prefix}length")
        tile = (self.rows, self.size)
        address = sequence.flat_map(CacheTiles(self.sequences, *self._room), length, name=f"{prefix}address")
        valid = length.flat_map(CacheRows(self.rows), name=f"{prefix}valid").assume_shape(address.shape)
        key = address.load_random(self.keys, tile=tile, name=f"{prefix}load_key")  # [n, tiles]
        value = address.buffered(8).load_random(self.values, tile=tile, name=f"{prefix}load_value")
        query = sequence.load_random(self.query, tile=(self.group, self.size), name=f"{prefix}load_query")
        queries = query.reshape(1, name=f"{prefix}query")[0].expand(key, name=f"{prefix}queries")

        product = queries.map(Matmul(transposed=True), key, name=f"{prefix}product")  # [group, rows]
        score = product.map(Scale(1 / sqrt(self.size)), name=f"{prefix}score").map(
            FilterLastTile(-np.inf, "col"), valid.buffered(8), name=f"{prefix}valid_score"
        )
        largest = score.map(RowMax(), name=f"{prefix}largest")  # [group, 1]
        now = largest.scan(Max(), name=f"{prefix}now")
        before = largest.scan(Max(), exclusive=True, name=f"{prefix}before")
        shrink = before.map(Sub(), now, name=f"{prefix}growth").map(Exp(), name=f"{prefix}shrink")
        weight = score.map(Sub(), now, name=f"{prefix}relative").map(Exp(out=BF16), name=f"{prefix}weight")

        part = weight.map(Matmul(), value, name=f"{prefix}part")  # [group, size]
        total = shrink.buffered(8).accum(MulAdd(), part, name=f"{prefix}total")
        weights = shrink.accum(MulAdd(), weight.map(RowSum(), name=f"{prefix}sum"), name=f"{prefix}weights")
        result = total.map(Div(), weights, name=f"{prefix}result")
        return sequence.buffered(4).zip(result, name=f"{prefix}results"), key

    @property
    def _room(self) -> tuple[int, int]:
        return self.tiles, self.rows


def build(
    lengths: np.ndarray,
    *,
    regions: int,
    dynamic: bool,
    heads: int = 2,
    group: int = 4,
    size: int = 16,
    rows: int = 4,
) -> Program:
    """Attention for requests with ``lengths`` [requests] rows in the caches of their ``heads`` KV heads."""
    sequences = len(lengths) * heads
    tiles = int(lengths.max(initial=0)) // rows + 1
    graph = Graph("attention_parallel" if dynamic else "attention_interleaved")
    attention = Attention(graph, sequences, tiles, rows, size, group)
    length = graph.source("length", Tile(UINT32), [len(lengths)])
    work = attention.appended(length.repeat(heads, name="heads").flatten(0, 1, name="lengths"))
    if dynamic:
        results = parallelize(work, attention.attend, regions=regions)
    else:
        parts = work.partition(graph.turns(regions, reference=work, name="turn"), targets=regions, name="parts")
        results, _ = graph.eager_merge([attention.attend(each)[0] for each in parts], name="merge")
    output = graph.tensor("output", (sequences * group, size), FP32)
    results.item_of(1, name="result").store_random(output, results.item_of(0, name="place"), name="store").sink("written")
    return _with_data(graph, attention, lengths, heads)


def _with_data(graph: Graph, attention: Attention, lengths: np.ndarray, heads: int) -> Program:
    """Random queries and caches, and the float64 result."""
    random = np.random.default_rng(0)
    sequences, group, size = attention.sequences, attention.group, attention.size
    room = attention.tiles * attention.rows

    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal(shape).astype(ml_dtypes.bfloat16)

    inputs = {"length": lengths, "query": normal(sequences * group, size)}
    inputs["output"] = np.zeros((sequences * group, size))
    full = {}
    for name in ("keys", "values"):
        cache, new = normal(sequences, room, size), normal(sequences, size)
        full[name] = cache.copy()
        for sequence, length in enumerate(np.repeat(lengths, heads)):
            cache[sequence, length:] = 0
            full[name][sequence, length:] = 0
            full[name][sequence, length] = new[sequence]
        inputs |= {name: cache.reshape(-1, size), f"new_{name}": new}
    expected, bound = reference(
        inputs["query"].reshape(sequences, group, size), full["keys"], full["values"], np.repeat(lengths, heads) + 1
    )
    return Program(
        graph,
        inputs,
        FabricConfig(matmul_lanes=4, vector_lanes=4, link_bytes=32, memory=MemoryConfig(beat_bytes=32)),
        expected={
            "output": expected.reshape(-1, size),
            **{name: each.astype(np.float64).reshape(-1, size) for name, each in full.items()},
        },
        tolerance=float(bound.max() / np.abs(expected).max()),
    )


def reference(
    query: np.ndarray, keys: np.ndarray, values: np.ndarray, lengths: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Attention in float64 [sequences, group, size], and a bound on the error of the BF16 program per element.

    Weights are rounded to BF16, so each of them is wrong by 2^-9 of itself at most, above and below the fraction. The
    rest (sums in FP32, the tables of exp and of the quotient) is well below half of that, which is allowed in addition.
    """
    expected, bound = (np.zeros(query.shape) for _ in range(2))
    for sequence, length in enumerate(lengths):
        key, value = (each[sequence, :length].astype(np.float64) for each in (keys, values))
        score = query[sequence].astype(np.float64) @ key.T / sqrt(query.shape[-1])
        weight = np.exp(score - score.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        expected[sequence] = weight @ value
        bound[sequence] = 1.5 * 2**-9 * (weight @ np.abs(value) + np.abs(expected[sequence]))
    return expected, bound


def read_lengths(path: Path) -> np.ndarray:
    """KV lengths in rows, [requests]; raises `FormatError` for a file of another form."""
    try:
        lengths = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise FormatError(f"{path} is no .npy file with KV lengths: {error}") from None
    if not isinstance(lengths, np.ndarray) or lengths.ndim != 1 or lengths.dtype.kind not in "iu":
        raise FormatError(f"{path} must have integers [requests], not {lengths.dtype} {list(lengths.shape)}")
    if lengths.min(initial=0) < 0:
        raise FormatError(f"{path}: KV lengths must be at least 0, not {lengths.min()}")
    return lengths


def interleaved() -> Program:
    """Sequences go to three regions by turns."""
    return build(read_lengths(TRACE) // SCALE, regions=3, dynamic=False)


def parallel() -> Program:
    """A sequence goes to whichever of three regions is free."""
    return build(read_lengths(TRACE) // SCALE, regions=3, dynamic=True)


def program() -> Program:
    """The dynamic arrangement."""
    return parallel()
