"""The graphs behind Figs. 14, 15 and 21 of the paper: decode attention of Qwen3 with one KV head, on four regions.

Of each request the last tile of keys and values gets a row more and is written back, and then all tiles are read one
by one. There is neither a maximum nor a scale, and heads have 64 columns, as in the artifact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from experiments.published.functions import LastTile, RowWiseAppend, SetOffset, SignalReqAllRead
from sim_published.profile import PublishedProfile
from step import BF16, FP32, UINT32, Graph, Stream, Tensor, Tile
from step.functions import Add, CacheEnd, CacheTiles, Div, Exp, Matmul, RowSum
from step.language.dims import Dim
from step.language.types import Selector
from step.ops.broadcast import Broadcast
from step_models.configurations import DATA as CONFIGURATIONS

REGIONS, ROWS, SIZE, GROUP, COARSE = 4, 32, 64, 8, 16
DATA = CONFIGURATIONS / "kv_lengths"
PROFILE = PublishedProfile(channel_depth=1, flops=2048)
"""That of the attention figures: channels of one element, 2048 operations a cycle of every operator."""


Part = tuple[Sequence[int], str]
"""Numbers of the requests of a region, or of all, and the prefix of its names."""


@dataclass(frozen=True)
class Requests:
    """Streams into a region, or into all: query [n, 1], new rows of keys and values, number, tiles and valid rows."""

    query: Stream
    key: Stream
    value: Stream
    number: Stream
    tiles: Stream
    valid: Stream


class AttentionGraph:
    """The graph for requests with ``lengths`` rows in their caches, of at most ``room`` tiles each."""

    def __init__(self, lengths: np.ndarray, room: int, name: str) -> None:
        self.lengths, self.room = lengths, room
        self.graph = Graph(name)
        self.inputs: dict[str, Any] = {}
        count = len(lengths)
        cache = (count * room * ROWS, SIZE)
        self.caches = {name: self.graph.tensor(f"{name}s", cache, BF16) for name in ("key", "value")}
        self.output = self.graph.tensor("output", (count * GROUP, SIZE), FP32)

    def requests(self, *parts: Part) -> list[Requests]:
        """Requests of every part, loaded and played in its order: [1, n, 1] and [1, n]."""

        def rows(name: str, height: int) -> list[Stream]:
            return [self._rows(f"{prefix}{name}", f"{prefix}load_{name}", height, which) for which, prefix in parts]

        # The order of the graph is that of the ports of memory: all queries, all new keys, all new values.
        query, key, value = rows("query", GROUP), rows("new_key", 1), rows("new_value", 1)
        return [
            Requests(*streams, *self._numbers(which, prefix))
            for *streams, (which, prefix) in zip(query, key, value, parts, strict=True)
        ]

    def _rows(self, name: str, load: str, height: int, which: Sequence[int]) -> Stream:
        tensor = self.graph.tensor(name, (len(which) * height, SIZE), BF16)
        return self.graph.load(tensor, tile=(height, SIZE), out=(len(which), 1), stride=(1, 1), name=load)

    def _numbers(self, which: Sequence[int], prefix: str) -> Iterator[Stream]:
        lengths = self.lengths[list(which)]
        values = {"number": np.array(which), "tiles": lengths // ROWS + 1, "valid": lengths % ROWS}
        for name, each in values.items():
            self.inputs[f"{prefix}{name}"] = each[None].astype(np.uint32)
            yield self.graph.source(f"{prefix}{name}", Tile(UINT32), [1, len(which)])

    def read(
        self, name: str, new: Stream, work: Requests, prefix: str, tiles: Dim | None = None
    ) -> tuple[Stream, Stream]:
        """The tiles of keys or values [n, tiles], of which the last one has the row ``new`` and is written back; and
        the tiles as they were read. ``tiles`` is their number, where it has a symbol already."""
        prefix, (count,) = f"{prefix}{name}_", work.number.shape
        tile = (ROWS, SIZE)
        address = work.number.flat_map(CacheTiles(len(self.lengths), self.room, 1), work.tiles, name=f"{prefix}address")
        address = address.assume_shape([count, address.shape[1] if tiles is None else tiles])
        loaded = address.load_random(self.caches[name], tile=tile, name=f"{prefix}load")
        last = work.tiles.flat_map(LastTile(), name=f"{prefix}last").assume_shape(loaded.shape)
        end, others = loaded.partition(last, targets=2, name=f"{prefix}split")
        opened = end.assume_shape([count]).map(SetOffset(), work.valid, name=f"{prefix}offset")
        longer = opened.map(RowWiseAppend(), new, name=f"{prefix}append")
        place = work.number.map(CacheEnd(len(self.lengths), self.room + 1, 1), work.tiles, name=f"{prefix}place")
        whole = self.graph.reassemble([longer, others], last, name=f"{prefix}whole")
        # What is written back passes one more Broadcast, which has no other reader.
        written, _ = self.graph.add(Broadcast(2), [longer], name=f"{prefix}written")
        self._store(written, self.caches[name], place, f"{prefix}store")
        return whole.flatten(0, 1, name=f"{prefix}tiles").assume_shape(loaded.shape), loaded

    def region(self, work: Requests, prefix: str) -> Stream:
        """All of it for requests [n], which are stored; the tiles of keys [n, tiles] as they are read."""
        key, read = self.read("key", work.key, work, prefix)
        value, _ = self.read("value", work.value, work, prefix, key.shape[1])
        queries = work.query.expand(key, name=f"{prefix}queries")
        weight = queries.map(Matmul(transposed=True), key, name=f"{prefix}product").map(
            Exp(out=BF16), name=f"{prefix}weight"
        )
        total = weight.accum(Matmul(), value, name=f"{prefix}total")
        weights = weight.accum(Add(), name=f"{prefix}weights").map(RowSum(), name=f"{prefix}weight_sum")
        result = total.map(Div(), weights, name=f"{prefix}result")
        self._store(result, self.output, work.number, f"{prefix}store")
        return read

    def _store(self, data: Stream, tensor: Tensor, place: Stream, name: str) -> None:
        data.store_random(tensor, place, name=name).sink(f"{name}d")


def coarse(lengths: np.ndarray, room: int) -> AttentionGraph:
    """16 requests one after the other for each region, and then again."""
    made = AttentionGraph(lengths, room, "attention_coarse")
    parts: list[Part] = []
    for region in range(REGIONS):
        blocks = range(region * COARSE, len(lengths), REGIONS * COARSE)
        which = [number for block in blocks for number in range(block, min(block + COARSE, len(lengths)))]
        if which:
            parts.append((which, f"region{region}_"))
    for loaded, (_, prefix) in zip(made.requests(*parts), parts, strict=True):
        work = Requests(*(each.flatten(0, 1) if each.rank == 1 else each.flatten(1, 2) for each in _all(loaded)))
        made.region(_flat(work), prefix)
    return made


def interleaved(lengths: np.ndarray, room: int) -> AttentionGraph:
    """Requests go to the regions by turns."""
    made = AttentionGraph(lengths, room, "attention_interleaved")
    (requests,) = made.requests((range(len(lengths)), ""))
    loaded = [each.flatten(0, 1) if each.rank == 1 else each.flatten(1, 2) for each in _all(requests)]
    turns = made.graph.turns(REGIONS, dims=[len(lengths)], name="turns")
    _regions(made, loaded, turns)
    return made


def dynamic(lengths: np.ndarray, room: int) -> AttentionGraph:
    """Requests go to the region that has read all keys of its last one."""
    made = AttentionGraph(lengths, room, "attention_dynamic")
    graph, count = made.graph, len(lengths)
    free = graph.feedback(Selector(REGIONS), [count], name="free")
    turns = [1 << region for region in range(REGIONS)]
    first = graph.generate(Selector(REGIONS), turns, [1, REGIONS], name="turns").flatten(0, 1, name="first")
    order = graph.generate(Selector(2), [1] * REGIONS + [2] * (count - REGIONS), [1, count], name="order")
    ends = graph.generate(Selector(2), [2] * (count - REGIONS) + [1] * REGIONS, [1, count], name="ends")
    last, again = free.stream.partition(ends.flatten(0, 1, name="use"), targets=2, name="again")
    last.sink("last")
    which = graph.reassemble([first, again], order, name="offers").flatten(0, 1, name="which")
    (requests,) = made.requests((range(count), ""))
    reads = _regions(made, _all(requests), which.assume_shape([1, count]))
    signals = [each.accum(SignalReqAllRead(), name=f"region{n}_read") for n, each in enumerate(reads)]
    merged, region = graph.eager_merge(signals, name="done")
    merged.sink("done_sink")
    free.close(region.assume_shape([count]))
    return made


ARRANGEMENTS = {"coarse": coarse, "interleaved": interleaved, "dynamic": dynamic}


def _all(work: Requests) -> list[Stream]:
    return [work.query, work.key, work.value, work.number, work.tiles, work.valid]


def _flat(work: Requests) -> Requests:
    """New rows [n, 1] as [n]."""
    return replace(work, key=work.key.flatten(0, 1), value=work.value.flatten(0, 1))


def _regions(made: AttentionGraph, streams: list[Stream], which: Stream) -> list[Stream]:
    """Every region with what ``which`` gives to it; the tiles of keys that each reads."""
    names = ("query", "key", "value", "number", "tiles", "valid")
    parts = [
        each.partition(which, targets=REGIONS, rank=int(position < 3), name=f"{name}_parts")
        for position, (name, each) in enumerate(zip(names, streams, strict=True))
    ]
    return [made.region(_flat(Requests(*work)), f"region{n}_") for n, work in enumerate(zip(*parts, strict=True))]
