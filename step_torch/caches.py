"""KV caches: a sequence is a head of keys of one layer, with room for so many tiles of rows in off-chip memory.

Where rows see a window, a cache has room for one: the next row takes the place of the oldest one. The order of rows
decides nothing, so all of it is read as it lies there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from step import UINT32, Stream, Tile
from step.language.graph import Feedback

if TYPE_CHECKING:
    from step_torch.importing import Importer
    from step_torch.sources import Stored


@dataclass(frozen=True)
class Turns:
    """Rows of a chunk one after the other: the number of a sequence comes ``back`` when the row is in its cache, if
    there is ``more`` [sequences of all rounds]."""

    back: Feedback
    more: Stream

    def next(self, number: Stream) -> None:
        """The sequences of ``number`` can take their next row."""
        (again,) = number.partition(self.more, targets=1, name=f"{self.back.name}_again")
        self.back.close(again.assume_shape(self.back.type.shape))


@dataclass(frozen=True)
class Cache:
    """``sequences`` of ``tiles`` tiles of ``rows``; names begin with ``prefix``. ``number`` [sequences of all rounds]
    says whose turn it is, and ``length``, of the same shape, how many rows it had by now, of which it keeps a
    ``window``. The next one comes to the tile of row ``place`` as row ``row``. ``turns``: those of the rows of a chunk,
    which share a sequence."""

    prefix: str
    sequences: int
    tiles: int
    rows: int
    number: Stream
    length: Stream
    place: Stream
    row: Stream
    window: int | None
    turns: Turns | None = None


def cache_of(
    at: Importer, heads: int, room: int, number: Stream, length: Stream, prefix: str, window: int | None
) -> Cache:
    """Caches of ``heads`` sequences with ``room`` for so many rows, or for a ``window`` of them."""
    rows, place, row = at.tiling.cache_rows, length, length
    if window is not None:
        places = np.arange(room) % window
        place, row = (_looked_up(at, length, each, prefix) for each in (places, places % rows))
        room = window
    return Cache(prefix, heads, -(-room // rows), rows, number, length, place, row, window)


def _looked_up(at: Importer, number: Stream, table: np.ndarray, prefix: str) -> Stream:
    """What a table has at ``number``."""
    tensor = at.graph.tensor(at.free(f"{prefix}places"), (len(table), 1), UINT32)
    at.inputs[tensor.name] = table[:, None]
    return number.load_random(tensor, tile=(1, 1), name=at.free(f"{prefix}place"))


def captured(at: Importer, keys: Stored, values: Stored, prefix: str, window: int | None) -> Cache:
    """The caches of a step that is imported by itself, with the rows of the capture in them.

    Their length is an input, so that the same program takes a step behind any cache that has room.
    """
    _, heads, past, _ = keys.data.shape
    at.inputs[f"{prefix}length"] = np.full(heads, past)
    length = at.graph.source(f"{prefix}length", Tile(UINT32), [heads])
    cache = cache_of(at, heads, past + 1, at.graph.count([heads], name=f"{prefix}number"), length, prefix, window)
    kept = np.arange(past)[-(window or past) :]
    for name, given in (("keys", keys), ("values", values)):
        rows = np.zeros((heads, cache.tiles * cache.rows, given.data.shape[-1]), ml_dtypes.bfloat16)
        rows[:, kept % (window or past + 1)] = given.data[0][:, kept]
        at.inputs[f"{prefix}{name}"] = rows.reshape(-1, rows.shape[-1])
    return cache
