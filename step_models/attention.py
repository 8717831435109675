"""Decode attention over ragged KV caches, with grouped queries.

Every request gets one new token. For each of its KV heads there is a tile of query rows, one for each query head of the
group that shares it, and a cache of keys and values, whose length differs from request to request. The new row is
appended to the cache, and then attention reads that tile by tile, or as one tile of as many rows as there are.

A KV head of a request is called a sequence here. Sequences are independent, so several regions of the fabric work at
the same time. They get blocks of them (`coarse`), take them by turns (`interleaved`), or whenever they are free
(`dynamic`): then a long one delays nobody else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from math import sqrt
from typing import ClassVar, Literal

import numpy as np

from step import BF16, FP32, UINT32, FabricConfig, Graph, Program, Stream, Tensor, Tile
from step.errors import InputError
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
    RetileRow,
    RetileStreamify,
    RowMax,
    RowSum,
    Scale,
    Sub,
    Transpose,
)
from step.language.arguments import Checked
from step.language.fused import Sum
from step.language.parameters import settle_parameters
from step.library import parallelize
from step_models.arrivals import check_gaps, paced
from step_models.checking import workload
from step_models.division import check_divides
from step_models.fabrics import fitting
from step_models.kv_lengths import check_lengths
from step_models.weights import blank_tensors, normal

Arrangement = Literal["coarse", "interleaved", "dynamic"]


@dataclass
class Attention(metaclass=Checked):
    """Attention as a part of ``graph``: ``sequences`` with room for ``tiles`` tiles of ``rows`` rows in their caches.

    ``rows`` None: the keys of a sequence are one tile of as many rows as its cache has, and caches have room for
    ``tiles`` rows. A row has ``size`` scalars, and ``group`` query rows share a sequence. ``regions`` work at the same
    time; in the ``"coarse"`` arrangement each gets ``block`` sequences after those of the region before it, and again
    from the first region on (by default as many as it takes for once). ``online``: weights are relative to the largest
    score so far (of all rows, where these are one tile), so that none can overflow; else exponentials are taken as they
    are. ``scaled``: scores are divided by the root of ``size``. ``in_memory``: queries are a tensor ``query`` and
    results a tensor ``output``, both [sequences * group, size]; else they are streams. ``places``: sequences that the
    caches have room for, by default all. ``prefix`` begins all names. ``sum`` is that of the products.

    Raises `InputError` for what can not be arranged.
    """

    graph: Graph
    sequences: int
    tiles: int
    rows: int | None
    size: int
    group: int
    regions: int
    arrangement: Arrangement
    block: int | None = None
    online: bool = True
    scaled: bool = True
    in_memory: bool = True
    places: int | None = None
    prefix: str = ""
    sum: Sum = "ordered"

    refused: ClassVar = InputError

    def __post_init__(self) -> None:
        settle_parameters(self)
        for what, value in (
            ("there must be at least one KV head", self.sequences),
            ("a KV head must have at least one query head", self.group),
            ("a row of the KV cache must have at least one scalar", self.size),
            ("attention needs at least one region", self.regions),
        ):
            if value < 1:
                raise InputError(f"{what}, not {value}")
        _check_rows(self.rows)
        if self.block is not None and (self.block < 1 or self.arrangement != "coarse"):
            raise InputError(
                f'block must be at least one sequence of a "coarse" arrangement, '
                f"not {self.block} of {self.arrangement!r}"
            )
        if self.places is None:
            self.places = self.sequences
        if self.sequences > self.places:
            raise InputError(
                f"a batch of {self.sequences} sequences, the KV heads of all requests, is larger than the cache, "
                f"which has places for {self.places}"
            )
        cache = (self.places * self.tiles * self.rows_in_memory, self.size)
        self.keys = self.graph.tensor(f"{self.prefix}keys", cache, BF16)
        self.values = self.graph.tensor(f"{self.prefix}values", cache, BF16)
        if self.in_memory:
            rows = (self.sequences * self.group, self.size)
            self.query = self.graph.tensor(f"{self.prefix}query", rows, BF16)
            self.output = self.graph.tensor(f"{self.prefix}output", rows, FP32)

    @property
    def rows_in_memory(self) -> int:
        """Rows of a tile that is loaded or stored: a dynamic number of them comes one by one."""
        return self.rows or 1

    def append(self, length: Stream, new: Callable[[str], Stream], query: Stream | None = None) -> Stream:
        """The number of every sequence and its ``length`` with the new row [sequences], once that is in the cache.

        ``length`` is [sequences], and so are the new rows [1, size] that ``new`` gives for ``"keys"`` and ``"values"``.
        A ``query`` [sequences] of tiles [group, size] becomes the third item of the result.
        """
        graph, prefix = self.graph, self.prefix
        assert self.places is not None
        sequence = graph.count([self.sequences], name=f"{prefix}sequence")
        end = sequence.map(CacheEnd(self.places, self.tiles, self.rows_in_memory), length, name=f"{prefix}end")
        keys = self._store("keys", self.keys, end, length, new)
        stored = keys.zip(self._store("values", self.values, end, length, new), name=f"{prefix}stored")
        one = graph.constant(1, dtype=UINT32, reference=length, name=f"{prefix}one")
        # The numbers are counted along the acknowledgements, so whoever has one finds the new row.
        ready = graph.count(reference=stored, name=f"{prefix}ready")
        # Queries come before their rows are stored, and wait.
        queries = [] if query is None else [query.buffered(self.sequences + 1)]
        work: Stream = ready.zip(length.map(Add(), one, name=f"{prefix}longer"), *queries, name=f"{prefix}work")
        return work

    def load_new(self, name: str) -> Stream:
        """The new rows of ``"keys"`` or ``"values"``, from a tensor `new_keys` or `new_values` [sequences, size]."""
        tensor = self.graph.tensor(f"{self.prefix}new_{name}", (self.sequences, self.size), BF16)
        loaded = self.graph.load(tensor, tile=(1, self.size), name=f"{self.prefix}load_new_{name}")
        row: Stream = loaded.flatten(0, 2, name=f"{self.prefix}new_{name}_rows")
        return row

    def _store(self, name: str, cache: Tensor, end: Stream, length: Stream, new: Callable[[str], Stream]) -> Stream:
        """Read the last tile of every sequence, append the new row, and store it; acknowledgements.

        What is read row by row needs no other row.
        """
        row, prefix = new(name), self.prefix
        if self.rows is None:
            alone: Stream = row.store_random(cache, end, name=f"{prefix}store_{name}")
            return alone
        tile = end.load_random(cache, tile=(self.rows, self.size), name=f"{prefix}load_last_{name}")
        longer = tile.map(AppendRow(), length, row, name=f"{prefix}append_{name}")
        stored: Stream = longer.store_random(cache, end, name=f"{prefix}store_{name}")
        return stored

    def results(self, work: Stream, *, in_order: bool = False) -> Stream:
        """What all regions make of ``work``, in order of arrival, or in that of ``work``; see `attend`."""
        prefix, graph = self.prefix, self.graph
        if self.arrangement == "dynamic":
            order: Literal["input", "arrival"] = "input" if in_order else "arrival"
            return parallelize(work, self._attend_next(), regions=self.regions, order=order, name=f"{prefix}parallel")
        if self.arrangement == "interleaved":
            turns = graph.turns(self.regions, reference=work, name=f"{prefix}turns")
        else:
            block = self.block or -(-self.sequences // self.regions)
            order_of_blocks = [each // block % self.regions for each in range(self.sequences)]
            turns = graph.turns(self.regions, order_of_blocks, name=f"{prefix}turns")
        parts = work.partition(turns, targets=self.regions, name=f"{prefix}parts")
        if self.arrangement == "coarse":
            # Without room for its sequences a region would keep those of the next ones back.
            parts = tuple(each.buffered(self.sequences + 1) for each in parts)
        attend = self._attend_next()
        results = [attend(each)[0] for each in parts]
        if not in_order:
            merged: Stream = graph.eager_merge(results, name=f"{prefix}merge")[0]
            return merged
        room = self.sequences + 1
        gathered = graph.reassemble(
            [each.buffered(room) for each in results], turns.buffered(room), order="index", name=f"{prefix}merge"
        )
        flat: Stream = gathered.flatten(0, 1, name=f"{prefix}merged").assume_shape(work.shape)
        return flat

    def _attend_next(self) -> Callable[[Stream], tuple[Stream, Stream]]:
        """`attend` for one region after the other."""
        numbers = count()
        return lambda work: self.attend(work, f"{self.prefix}region{next(numbers)}_")

    def attend(self, work: Stream, prefix: str, query: Stream | None = None) -> tuple[Stream, Stream]:
        """A region: of sequences and lengths [n] these sequences with their results [n], tiles [group, size].

        Where queries are not in memory they are ``query`` [n], or the third item of ``work``. The second stream is one
        of keys [n, tiles]: behind the last one of a sequence the next sequence can begin.
        """
        assert self.places is not None
        tile = (self.rows_in_memory, self.size)
        sequence, length = work.item_of(0, name=f"{prefix}sequence"), work.item_of(1, name=f"{prefix}length")
        tiles = CacheTiles(self.places, self.tiles, self.rows_in_memory)
        address = sequence.flat_map(tiles, length, name=f"{prefix}address")  # [n, tiles], as keys and values
        key = address.load_random(self.keys, tile=tile, name=f"{prefix}key")
        if self.rows is None:
            # Values wait for the weights of a whole sequence. Meanwhile keys of some more can come.
            waiting, its_length = sequence.buffered(8), length.buffered(8)
            address = waiting.flat_map(tiles, its_length, name=f"{prefix}value_address").assume_shape(key.shape)
        value = address.load_random(self.values, tile=tile, name=f"{prefix}value")
        if self.in_memory:
            query = sequence.load_random(self.query, tile=(self.group, self.size), name=f"{prefix}query")
        elif query is None:
            query = work.item_of(2, name=f"{prefix}query")
        if self.rows is None:
            total, weights = self._whole(query, key, value, prefix)
        else:
            valid = length.flat_map(CacheRows(self.rows), name=f"{prefix}valid").assume_shape(address.shape)
            score = self._scores(query, key, valid, prefix)
            total, weights = (self._online if self.online else self._direct)(score, value, prefix)
        result = total.map(Div(), weights, name=f"{prefix}result")
        # Some sequences are on their way at the same time; their numbers wait for the results.
        return sequence.buffered(4).zip(result, name=f"{prefix}results"), key

    def _whole(self, query: Stream, key: Stream, value: Stream, prefix: str) -> tuple[Stream, Stream]:
        """Sums of the weighted values [group, size], and of the weights [group, 1], of keys that are one tile.

        Scores are tiles [rows, group], as columns are static. All of them are there, so the largest of a query is
        known before any weight is.
        """
        keys = key.accum(RetileRow(), name=f"{prefix}keys")  # [n]
        score = self._scaled(keys.map(Matmul(transposed=True, sum=self.sum), query, name=f"{prefix}product"), prefix)

        def rows(tiles: Stream, name: str) -> Stream:
            """Their rows [n, rows] of tiles [1, group]."""
            split = tiles.flat_map(RetileStreamify(1, "row", rank=1), name=f"{prefix}{name}_rows")
            each: Stream = split.assume_shape(key.shape)
            return each

        if self.online:
            largest = rows(score, "score").accum(Max(), name=f"{prefix}largest")
            score = score.map(Sub(), largest, name=f"{prefix}relative")
        weight = rows(score.map(Exp(out=BF16), name=f"{prefix}weight"), "weight")
        # Of one k each, so there is nothing to fuse.
        total = weight.map(Transpose(), name=f"{prefix}weight_column").accum(Matmul(), value, name=f"{prefix}total")
        weights = weight.accum(Add(), name=f"{prefix}weight_sum").map(Transpose(), name=f"{prefix}weights")
        return total, weights

    def _scaled(self, product: Stream, prefix: str) -> Stream:
        """Scores of products of queries and keys."""
        if not self.scaled:
            return product
        score: Stream = product.map(Scale(1 / sqrt(self.size)), name=f"{prefix}score")
        return score

    def _scores(self, query: Stream, key: Stream, valid: Stream, prefix: str) -> Stream:
        """Tiles [group, rows] for each tile of keys, where rows that are not ``valid`` can not weigh."""
        queries = query.reshape(1, name=f"{prefix}query_row")[0].expand(key, name=f"{prefix}queries")
        product = queries.map(Matmul(transposed=True, sum=self.sum), key, name=f"{prefix}product")
        score: Stream = self._scaled(product, prefix).map(
            FilterLastTile(-np.inf, "col"), valid, name=f"{prefix}valid_score"
        )
        return score

    def _online(self, score: Stream, value: Stream, prefix: str) -> tuple[Stream, Stream]:
        """Sums of the weighted values [group, size], and of the weights [group, 1], of every sequence.

        What the largest score is shows at the end. Until then weights are relative to the largest one so far, and where
        that grows, the sums shrink.
        """
        largest = score.map(RowMax(), name=f"{prefix}largest")  # [group, 1]
        now = largest.scan(Max(), name=f"{prefix}now")
        before = largest.scan(Max(), exclusive=True, name=f"{prefix}before")
        shrink = before.map(Sub(), now, name=f"{prefix}growth").map(Exp(), name=f"{prefix}shrink")
        weight = score.map(Sub(), now, name=f"{prefix}relative").map(Exp(out=BF16), name=f"{prefix}weight")
        part = weight.map(Matmul(sum=self.sum), value, name=f"{prefix}part")  # [group, size]
        total = shrink.accum(MulAdd(), part, name=f"{prefix}total")  # [n], as all behind it
        weights = shrink.accum(MulAdd(), weight.map(RowSum(), name=f"{prefix}weight_sum"), name=f"{prefix}weights")
        return total, weights

    def _direct(self, score: Stream, value: Stream, prefix: str) -> tuple[Stream, Stream]:
        """The same sums with exponentials as they are: they overflow where a score is above 88."""
        weight = score.map(Exp(out=BF16), name=f"{prefix}weight")
        total = weight.accum(Matmul(sum=self.sum), value, name=f"{prefix}total")
        weights = weight.map(RowSum(), name=f"{prefix}weight_sum").accum(Add(), name=f"{prefix}weights")
        return total, weights

    def store(self, results: Stream) -> None:
        """Put the results of sequences, in any order, into the output."""
        prefix = self.prefix
        sequence, result = results.item_of(0, name=f"{prefix}place"), results.item_of(1, name=f"{prefix}result")
        result.store_random(self.output, sequence, name=f"{prefix}store_output").sink(f"{prefix}stored_output")


def _check_rows(rows: int | None) -> None:
    """Raise `InputError` for tiles that a cache can not have."""
    if rows is not None and (rows < 1 or rows & (rows - 1)):
        raise InputError(f"a tile of the KV cache must have a power of two of rows, not {rows}")


@workload
def cache_tiles(lengths: np.ndarray, rows: int | None, room: int | None = None) -> int:
    """Tiles of ``rows`` rows that a sequence needs for the longest of ``lengths`` and the new row, or ``room`` rows.

    They have one row each where ``rows`` is None.
    """
    check_lengths(lengths, room)
    _check_rows(rows)
    rows = rows or 1
    if room is None:
        return int(lengths.max()) // rows + 1
    check_divides("rows, the rows of a tile of the KV cache,", rows, "room, the rows of a cache,", room)
    return room // rows


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
    attention = Attention(
        graph,
        len(lengths) * heads,
        tiles,
        rows,
        size,
        group,
        regions,
        arrangement,
        block,
        online,
        scaled,
        places=None if places is None else places * heads,
        sum=sum,
    )
    length = graph.source("length", Tile(UINT32), [len(lengths)])
    given = {"length": lengths}
    if gaps is not None:
        given["gap"] = check_gaps(gaps, len(lengths))
        length = paced(graph, length)
    every = length.repeat(heads, name="heads").flatten(0, 1, name="lengths")
    attention.store(attention.results(attention.append(every, attention.load_new)))
    fabric = fitting(graph, rows=tiles if rows is None else 1) if fabric is None else fabric
    if not values:
        return Program(graph, blank_tensors(graph) | given, fabric)
    return _with_data(attention, given, heads, fabric)


def _with_data(attention: Attention, given: dict[str, np.ndarray], heads: int, fabric: FabricConfig) -> Program:
    """Random queries, keys and values, the float64 result, and the caches with the new rows."""
    random, lengths = np.random.default_rng(0), given["length"]
    sequences, size, query_rows = attention.sequences, attention.size, attention.sequences * attention.group
    inputs = {
        **given,
        "query": normal(random, query_rows, size),
        "output": np.zeros((query_rows, size)),
    }
    caches = {}
    for name in ("keys", "values"):
        assert attention.places is not None
        cache = normal(random, attention.places, attention.tiles * attention.rows_in_memory, size)
        new = normal(random, sequences, size)
        for sequence, length in enumerate(np.repeat(lengths, heads)):
            cache[sequence, length:] = 0
        inputs |= {name: cache.reshape(-1, size), f"new_{name}": new}
        caches[name] = cache.astype(np.float64)
        caches[name][np.arange(sequences), np.repeat(lengths, heads)] = new
    query = inputs["query"].astype(np.float64).reshape(sequences, -1, size)
    expected, bound = np.empty_like(query), np.empty_like(query)
    for sequence, length in enumerate(np.repeat(lengths, heads) + 1):
        key, value = (caches[name][sequence, :length] for name in ("keys", "values"))
        expected[sequence], bound[sequence] = reference(query[sequence], key, value, scaled=attention.scaled)
    return Program(
        attention.graph,
        inputs,
        fabric,
        expected={name: each.reshape(-1, size) for name, each in {"output": expected, **caches}.items()},
        tolerance=float(bound.max() / np.abs(expected).max()),
    )


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
