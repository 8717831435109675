"""Attention over caches of keys and values, as a part of programs.

The new row of every sequence is appended to its cache, and then attention reads that tile by tile, or as one tile of as
many rows as there are. Sequences are independent, so several regions of the fabric work at the same time. They get
blocks of them (`coarse`), take them by turns (`interleaved`), get those that somebody chose for them (`assigned`), or
take one whenever they are free (`dynamic`): then a long one delays nobody else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from math import sqrt
from typing import ClassVar, Literal

import numpy as np

from step import BF16, FP32, UINT32, Graph, Stream, Tensor
from step.errors import InputError
from step.functions import Add, AppendRow, CacheEnd, CacheRows, CacheTiles, Div, FilterLastTile, Matmul
from step.language.arguments import Checked
from step.language.fused import Sum
from step.language.parameters import settle_parameters
from step.library import parallelize
from step_models import weighing
from step_models.checking import require, workload
from step_models.division import check_divides
from step_models.kv_lengths import check_lengths

Arrangement = Literal["coarse", "interleaved", "assigned", "dynamic"]


@dataclass
class Attention(metaclass=Checked):
    """Attention as a part of ``graph``: ``sequences`` with room for ``tiles`` tiles of ``rows`` rows in their caches.

    ``rows`` None: the keys of a sequence are one tile of as many rows as its cache has, and caches have room for
    ``tiles`` rows. A row has ``size`` scalars, and ``group`` query rows share a sequence. ``regions`` work at the same
    time; in the ``"coarse"`` arrangement each gets ``block`` sequences after those of the region before it, and again
    from the first region on (by default as many as it takes for once); in the ``"assigned"`` one ``assigned`` has the
    region of each sequence. ``online``: weights are relative to the largest score so far (of all rows, where these are
    one tile), so that none can overflow; else exponentials are taken as they are. ``scaled``: scores are divided by the
    root of ``size``, or multiplied by ``factor``, and ``capped`` then. ``value_size``: the scalars of a value, by
    default ``size``. ``in_memory``: queries are a tensor ``query`` and results a tensor ``output``, both [sequences *
    group, size]; else they are streams. ``places``: sequences that the caches have room for, by default all. ``prefix``
    begins all names. ``sum`` is that of the products.

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
    assigned: Sequence[int] | None = None
    online: bool = True
    scaled: bool = True
    in_memory: bool = True
    places: int | None = None
    prefix: str = ""
    sum: Sum = "ordered"
    factor: float | None = None
    capped: float | None = None
    value_size: int | None = None

    refused: ClassVar = InputError

    def __post_init__(self) -> None:
        settle_parameters(self)
        for what, value in (
            ("there must be at least one KV head", self.sequences),
            ("a KV head must have at least one query head", self.group),
            ("a row of the KV cache must have at least one scalar", self.size),
            ("attention needs at least one region", self.regions),
        ):
            require(value >= 1, f"{what}, not {value}")
        _check_rows(self.rows)
        if self.block is not None and (self.block < 1 or self.arrangement != "coarse"):
            raise InputError(
                f'block must be at least one sequence of a "coarse" arrangement, '
                f"not {self.block} of {self.arrangement!r}"
            )
        self._check_assigned()
        self.held = self.sequences if self.places is None else self.places
        if self.sequences > self.held:
            raise InputError(
                f"a batch of {self.sequences} sequences, the KV heads of all requests, is larger than the cache, "
                f"which has places for {self.held}"
            )
        rows, width = self.held * self.tiles * self.rows_in_memory, self.value_size or self.size
        self.keys = self.graph.tensor(f"{self.prefix}keys", (rows, self.size), BF16)
        self.values = self.graph.tensor(f"{self.prefix}values", (rows, width), BF16)
        if self.in_memory:
            count = self.sequences * self.group
            self.query = self.graph.tensor(f"{self.prefix}query", (count, self.size), BF16)
            self.output = self.graph.tensor(f"{self.prefix}output", (count, width), FP32)

    def _check_assigned(self) -> None:
        """Raise `InputError` unless there are regions for an ``"assigned"`` arrangement, and for no other one."""
        if (self.assigned is not None) != (self.arrangement == "assigned"):
            raise InputError(
                f'assigned must have the region of each sequence of an "assigned" arrangement, '
                f"not {self.assigned!r} for {self.arrangement!r}"
            )
        if self.assigned is None:
            return
        if len(self.assigned) != self.sequences:
            raise InputError(f"assigned must have {self.sequences} regions, one a sequence, not {len(self.assigned)}")
        for number, region in enumerate(self.assigned):
            if not 0 <= region < self.regions:
                raise InputError(f"assigned must have regions from 0 to {self.regions - 1}, not {region} at {number}")

    @property
    def scale(self) -> float | None:
        """Factor of products of queries and keys."""
        return self.factor or 1 / sqrt(self.size) if self.scaled else None

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
        sequence = graph.count([self.sequences], name=f"{prefix}sequence")
        end = sequence.map(CacheEnd(self.held, self.tiles, self.rows_in_memory), length, name=f"{prefix}end")
        keys = self._store("keys", self.keys, end, length, new)
        stored = keys.zip(self._store("values", self.values, end, length, new), name=f"{prefix}stored")
        one = graph.constant(1, dtype=UINT32, reference=length, name=f"{prefix}one")
        # The numbers are counted along the acknowledgements, so whoever has one finds the new row.
        ready = graph.count(reference=stored, name=f"{prefix}ready")
        # Queries come before their rows are stored, and wait.
        queries = [] if query is None else [query.buffered(self.sequences + 1)]
        return ready.zip(length.map(Add(), one, name=f"{prefix}longer"), *queries, name=f"{prefix}work")

    def load_new(self, name: str) -> Stream:
        """The new rows of ``"keys"`` or ``"values"``, from a tensor `new_keys` or `new_values` [sequences, size]."""
        tensor = self.graph.tensor(f"{self.prefix}new_{name}", (self.sequences, self.size), BF16)
        loaded = self.graph.load(tensor, tile=(1, self.size), name=f"{self.prefix}load_new_{name}")
        return loaded.flatten(0, 2, name=f"{self.prefix}new_{name}_rows")

    def _store(self, name: str, cache: Tensor, end: Stream, length: Stream, new: Callable[[str], Stream]) -> Stream:
        """Read the last tile of every sequence, append the new row, and store it; acknowledgements.

        What is read row by row needs no other row.
        """
        row, prefix = new(name), self.prefix
        if self.rows is None:
            return row.store_random(cache, end, name=f"{prefix}store_{name}")
        tile = end.load_random(cache, tile=(self.rows, self.size), name=f"{prefix}load_last_{name}")
        longer = tile.map(AppendRow(), length, row, name=f"{prefix}append_{name}")
        return longer.store_random(cache, end, name=f"{prefix}store_{name}")

    def results(self, work: Stream, *, in_order: bool = False) -> Stream:
        """Results of all regions for ``work``, in order of arrival, or in that of ``work``; see `attend`."""
        prefix, graph = self.prefix, self.graph
        if self.arrangement == "dynamic":
            order: Literal["input", "arrival"] = "input" if in_order else "arrival"
            return parallelize(work, self._attend_next(), regions=self.regions, order=order, name=f"{prefix}parallel")
        if self.arrangement == "interleaved":
            turns = graph.turns(self.regions, reference=work, name=f"{prefix}turns")
        else:
            block = self.block or -(-self.sequences // self.regions)
            blocks = [each // block % self.regions for each in range(self.sequences)]
            turns = graph.turns(self.regions, self.assigned or blocks, name=f"{prefix}turns")
        parts = work.partition(turns, targets=self.regions, name=f"{prefix}parts")
        if self.arrangement != "interleaved":
            # Without room for its sequences a region would keep those of the next ones back.
            parts = tuple(each.buffered(self.sequences + 1) for each in parts)
        attend = self._attend_next()
        results = [attend(each)[0] for each in parts]
        if not in_order:
            return graph.eager_merge(results, name=f"{prefix}merge")[0]
        room = self.sequences + 1
        gathered = graph.reassemble(
            [each.buffered(room) for each in results], turns.buffered(room), order="index", name=f"{prefix}merge"
        )
        return gathered.flatten(0, 1, name=f"{prefix}merged").assume_shape(work.shape)

    def _attend_next(self) -> Callable[[Stream], tuple[Stream, Stream]]:
        """`attend` for one region after the other."""
        numbers = count()
        return lambda work: self.attend(work, f"{self.prefix}region{next(numbers)}_")

    def attend(
        self,
        work: Stream,
        prefix: str,
        query: Stream | None = None,
        sink: Stream | None = None,
        bias: Tensor | None = None,
    ) -> tuple[Stream, Stream]:
        """A region: of sequences and lengths [n] these sequences with their results [n], tiles [group, size].

        Where queries are not in memory they are ``query`` [n], or the third item of ``work``; a ``sink`` [n] is that of
        `weighing.online`, and a ``bias`` has a tile [group, rows] for each tile of keys, added to its scores. The
        second stream is one of keys [n, tiles]: behind the last one of a sequence the next sequence can begin.
        """
        tile = (self.rows_in_memory, self.size)
        sequence, length = work.item_of(0, name=f"{prefix}sequence"), work.item_of(1, name=f"{prefix}length")
        tiles = CacheTiles(self.held, self.tiles, self.rows_in_memory)
        address = sequence.flat_map(tiles, length, name=f"{prefix}address")  # [n, tiles], as keys and values
        key = address.load_random(self.keys, tile=tile, name=f"{prefix}key")
        if self.rows is None:
            # Values wait for the weights of a whole sequence. Meanwhile keys of some more can come.
            waiting, its_length = sequence.buffered(8), length.buffered(8)
            address = waiting.flat_map(tiles, its_length, name=f"{prefix}value_address").assume_shape(key.shape)
        width = self.value_size or self.size
        value = address.load_random(self.values, tile=(tile[0], width), name=f"{prefix}value")
        if self.in_memory:
            query = sequence.load_random(self.query, tile=(self.group, self.size), name=f"{prefix}query")
        elif query is None:
            query = work.item_of(2, name=f"{prefix}query")
        if self.rows is None:
            total, weights = weighing.whole(
                query, key, value, relative=self.online, scale=self.scale, sum=self.sum, prefix=prefix
            )
        else:
            valid = length.flat_map(CacheRows(self.rows), name=f"{prefix}valid").assume_shape(address.shape)
            score = self._scores(query, key, prefix)
            if bias is not None:
                added = address.load_random(bias, tile=(self.group, self.rows), name=f"{prefix}bias")
                score = score.map(Add(), added, name=f"{prefix}biased")
            score = score.map(FilterLastTile(-np.inf, "col"), valid, name=f"{prefix}valid_score")
            weigh = partial(weighing.online, sink=sink) if self.online else weighing.direct
            total, weights = weigh(score, value, sum=self.sum, prefix=prefix)
        result = total.map(Div(), weights, name=f"{prefix}result")
        # Some sequences are on their way at the same time; their numbers wait for the results.
        return sequence.buffered(4).zip(result, name=f"{prefix}results"), key

    def _scores(self, query: Stream, key: Stream, prefix: str) -> Stream:
        """Tiles [group, rows] for each tile of keys."""
        queries = query.reshape(1, name=f"{prefix}query_row")[0].expand(key, name=f"{prefix}queries")
        product = queries.map(Matmul(transposed=True, sum=self.sum), key, name=f"{prefix}product")
        return weighing.capped(weighing.scaled(product, self.scale, prefix), self.capped, prefix)

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
