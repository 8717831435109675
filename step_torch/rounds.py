"""Sources of a program whose rows go round: what is read for every row by the number of its layer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from step import BF16, UINT32, Stream
from step.functions import Add, Compare, ExpertTiles, RetileRow, RetileStreamify, Scale, SelectAll, Where
from step.language.dims import Dim, per_tensor
from step.language.function import NUMBER
from step_torch.caches import Cache, Turns, cache_of
from step_torch.layouts import TileLayout, Value
from step_torch.loops import apart, looped, side_by_side
from step_torch.lowerings.elementwise import cast, renamed
from step_torch.sources import STREAMS, Sources, Stored, supported

IN_LAYER = 4
"""Chunks of a prompt that are in a layer at a time; numbers of twice as many are on their way."""


@dataclass(kw_only=True)
class EveryLayer(Sources):
    """Parameters are those of the layer whose turn it is: tensors have those of all ``layers``, one behind the other.

    ``weights``: of each parameter, by its name in the program, the data of every layer. ``length``: how many rows there
    are in the caches, for every row; these have ``room`` for so many. ``number`` is that of the layer for every tile,
    and comes before it: weights are on their way before the row that wants them. Of the rows of a ``chunk``, ``first``
    (1) says which are not the first, and ``more`` which are not the last; where these are no tile of ``rows``, each is
    a round of its own.
    """

    reference: Stream
    layers: int
    weights: dict[str, list[np.ndarray]]
    length: Stream
    room: int
    number: Stream
    first: Stream | None = None
    more: Stream | None = None
    chunk: int = 1

    def __post_init__(self) -> None:
        room = self.chunk * (4 * IN_LAYER if self.is_by_row else 1) + 1  # all rows begin before the first one is done
        self.places = self.length if self.first is None else self.length.buffered(room)
        self.every = self.places.flatten(0, 1, name="length_of_row") if self.places.rank else self.places
        if self.first is not None:
            ahead = (4 if self.is_by_row else 2) * IN_LAYER
            self.every, self.number = self.every.buffered(room), self.number.buffered(ahead)
        self.chunk_number = self.number
        if self.is_by_row:
            self.every = self.every.assume_shape(self.reference.shape)
            self.numbers = dict.fromkeys(self.numbers, self.every)
            each = self.number.reshape(1, name="layer_of_chunk")[0].expand(self.places, name="layer_of_rows")
            self.number = each.flatten(0, 1, name="layer_of_row").assume_shape(self.every.shape).buffered(room)

    @property
    def is_by_row(self) -> bool:
        """Whether each row of a chunk is a round of its own."""
        return self.first is not None and self.rows is None

    @property
    def in_tiles(self) -> bool:
        """Whether the rows of a chunk are those of a tile."""
        return self.first is not None and self.rows is not None

    @property
    def rows_of_chunk(self) -> Dim:
        """Rows of a tile that has all of a round."""
        if not self.is_by_row:
            return self.reference.element.tiles[0].rows
        return RetileRow().state_type(per_tensor(self.length.shape, 1), self.length.element).rows

    def alone(self, value: Value) -> Value:
        return self.in_rounds(value) if self.in_tiles else super().alone(value)

    def in_rounds(self, value: Value) -> Value:
        if not self.in_tiles or value.layout.rows != self.rows:
            return value
        at, rows = self.importer, side_by_side(self.importer, value)
        rows = rows.flat_map(RetileStreamify(1, "row"), name=at.name("row")).assume_shape(self.every.shape)
        return apart(at, replace(value, layout=replace(value.layout, rows=None)), rows)

    def together(self, value: Value) -> Value:
        """Rounds of a chunk are the rows of a tile."""
        if not self.in_tiles:
            return super().together(value)
        at = self.importer
        tile = self.of_chunks(side_by_side(at, value)).accum(RetileRow(), name=at.name("chunk"))
        return apart(at, replace(value, layout=replace(value.layout, rows=self.rows)), tile)

    def of_chunks(self, rows: Stream) -> Stream:
        """``rows`` [rows of all rounds] of all chunks, by chunks [rounds, rows]."""
        at, each = self.importer, self.places.map(SelectAll(1), name=self.importer.name("each_row"))
        each = replace(each, depth=self.places.depth)
        rows = at.graph.reassemble([rows], each, order="index", name=at.name("chosen_rows"))
        return rows.flatten(0, 1, name=at.name("rows")).assume_shape(self.length.shape)

    def for_several(self, value: Any) -> Any:
        """Rows wait for the last reader, while other chunks go on to the first one."""
        if self.first is None or not isinstance(value, Value) or value.layout.rows != self.rows:
            return value
        return replace(value, stream=value.stream.buffered(3 * IN_LAYER * self.chunk if self.is_by_row else IN_LAYER))

    def for_rows(self, value: Value) -> Value:
        """The same for every row of a chunk."""
        if not self.in_tiles:
            return value
        return apart(self.importer, value, self._of_rows(side_by_side(self.importer, value)))

    def _of_rows(self, stream: Stream) -> Stream:
        """``stream`` [rounds] with an element for every row of a tile."""
        if self.rows is None:
            return stream
        each = stream.reshape(1, name=self.importer.name("of_tile"))[0]
        each = each.expand(self.places, name=self.importer.name("of_rows"))
        return each.flatten(0, 1).assume_shape(self.every.shape)

    def tensor(self, given: Stored) -> Any:
        if (given.of or given.name) not in self.weights:
            return super().tensor(given)
        return self.declared(given, self.data_of(given))

    def data_of(self, given: Stored) -> list[np.ndarray]:
        """The data of a parameter in every layer."""
        return [given.form(each) for each in self.weights[given.of or given.name]]

    def loaded(self, given: Stored, wanted: TileLayout) -> Value:
        """The tiles of the layer in their own order, and from there in that which is ``wanted``."""
        if (given.of or given.name) not in self.weights:
            return super().loaded(given, wanted)
        at, tile = self.importer, wanted.tile
        tensor = self.tensor(given)
        grid = (given.data.size // given.width // tile[0], given.width // tile[1])
        count, name = prod(grid), self.names(given)
        extents, strides = list(wanted.extents), self.strides(given, wanted)
        straight = [prod(extents[place + 1 :]) for place in range(len(extents))]
        address = self.number
        if count > 1:
            address = address.flat_map(ExpertTiles(self.layers, count), name=name("at"))
        is_straight = strides == straight and prod(extents) == count
        if is_straight:
            for rank, extent in enumerate(reversed(extents[1:])):
                address = address.reshape(extent, rank=rank, name=name("loops"))[0]
        stream = address.load_random(tensor, tile=tile, name=name("load"))
        if count == 1:
            for extent in extents:
                stream = stream.repeat(extent, name=at.name("each"))
        elif not is_straight:
            stream = stream.bufferize(name=name("held")).streamify(out=extents, stride=strides, name=name("again"))
        return Value(stream, given.dims, wanted, BF16)

    def of_layer(self, number: Stream, given: Stored, count: int) -> Stream:
        """Counted on from layer to layer."""
        if (given.of or given.name) not in self.weights:
            return number
        at = self.importer
        first = self.number.map(Scale(count), name=at.name("first"))
        first = first if number.shape[0] == first.shape[0] else self._of_rows(first)
        supported(all(each.is_static for each in number.shape[1:]), "rows of a chunk by tables of each layer")
        for extent in number.shape[1:]:
            first = first.repeat(int(extent), name=at.name("first_again"))
        return number.map(Add(), first, name=at.name("in_layer"))

    def cache(self, keys: Stored, values: Stored, prefix: str, window: int | None) -> Cache:
        """Caches of all layers, empty, of which every row finds those of its layer."""
        at, heads = self.importer, keys.data.shape[1]
        texts = 1 if self.rows is None or self.first is not None else self.rows.count
        number = self.chunk_number
        if texts > 1:
            number = number.flat_map(ExpertTiles(self.layers, texts), name=f"{prefix}texts")
            number = number.flatten(0, 1, name=f"{prefix}numbers_of_texts").assume_shape(self.every.shape)
        if heads > 1:
            number = number.flat_map(ExpertTiles(self.layers * texts, heads), name=f"{prefix}of_layer")
            number = number.flatten(0, 1, name=f"{prefix}numbers")

        def of_heads(stream: Stream, name: str) -> Stream:
            each = stream.repeat(heads, name=f"{prefix}heads_{name}") if heads > 1 else stream
            return each.flatten(0, 1, name=f"{prefix}{name}") if heads > 1 else each

        length, turns = of_heads(self.every, "lengths"), None
        if self.first is not None and self.more is not None:
            flat = (each.flatten(0, 1).assume_shape(self.every.shape) for each in (self.first, self.more))
            first, more = (of_heads(each, name) for each, name in zip(flat, ("first", "more"), strict=True))
            turns = Turns(at.graph.feedback(NUMBER, [at.graph.symbol(f"{prefix}next")], name=f"{prefix}next_row"), more)
            numbers = [number, turns.back.stream.buffered(heads + 1)]
            number = at.graph.reassemble(numbers, first, order="index", name=f"{prefix}turn")
            number = number.flatten(0, 1, name=f"{prefix}sequence")
        number = number.assume_shape(length.shape) if number is not self.chunk_number else number
        cache = cache_of(at, self.layers * texts * heads, self.room, number, length, prefix, window)
        cache = replace(cache, turns=turns)
        for name, given in (("keys", keys), ("values", values)):
            rows = cache.sequences * cache.tiles * cache.rows
            at.inputs[f"{prefix}{name}"] = np.broadcast_to(np.zeros((), BF16.numpy), (rows, given.data.shape[-1]))
        return cache


class KeptState:
    """State that every layer keeps: ``now`` is the one in front of a row, and `close` takes the one behind.

    Memory has those of all layers, and last the one in front of the first row of a text.
    """

    def __init__(self, sources: EveryLayer, given: Stored) -> None:
        at, graph, self.prefix = sources.importer, sources.importer.graph, f"{given.name}_cache_"
        self.sources, dtype = sources, STREAMS[given.data.dtype.name]
        layout = sources.natural_layout(given, ragged=False)
        rows = np.tile(given.data.reshape(-1, given.width), (sources.layers + 1, 1))
        self.tensor = graph.tensor(f"{self.prefix}state", rows.shape, dtype)
        at.inputs[self.tensor.name] = rows
        zero, last = (
            graph.constant(each, dtype=UINT32, reference=sources.reference, name=f"{self.prefix}{name}")
            for name, each in (("zero", 0), ("first", sources.layers))
        )
        begins = sources.length.map(Compare("=="), zero, name=f"{self.prefix}begins")
        before = begins.map(Where(), last, sources.number, name=f"{self.prefix}before")
        address = self._addresses(before, layout)
        found = address.load_random(self.tensor, tile=layout.tile, name=f"{self.prefix}load")
        read = self._addresses(sources.number, layout).zip(found, name=f"{self.prefix}read")
        self.address = read.item_of(0, name=f"{self.prefix}behind")
        self.now = Value(found, given.dims, layout, dtype)

    def _addresses(self, number: Stream, layout: TileLayout) -> Stream:
        """Addresses of all tiles of the states of these numbers."""
        at, extents = self.sources.importer, layout.extents
        if not extents:
            return number
        tiles = number.flat_map(ExpertTiles(self.sources.layers + 1, prod(extents)), name=at.free(f"{self.prefix}at"))
        return looped(at, tiles.flatten(0, 1), number.shape[0], extents)

    def close(self, new: Value) -> Stream:
        """An element for every row as soon as its ``new`` state is in memory."""
        at, now = self.sources.importer, self.now
        value = at.joiner.to(renamed(at, new, now.dims), now.layout, "a state is kept")
        done = cast(at, value.stream, now.dtype).store_random(self.tensor, self.address, name=f"{self.prefix}store")
        rank = len(now.layout.loops)
        return done.accum(RetileRow(), rank=rank, name=f"{self.prefix}stored") if rank else done
