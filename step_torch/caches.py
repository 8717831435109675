"""KV caches: a sequence is a head of keys of one layer, with room for so many tiles of rows in off-chip memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from step import UINT32, Stream, Tile

if TYPE_CHECKING:
    from step_torch.importing import Importer
    from step_torch.sources import Stored


@dataclass(frozen=True)
class Cache:
    """``sequences`` of ``tiles`` tiles; ``number`` [sequences of all rounds] says whose turn it is, and ``length``, of
    the same shape, how many rows it has by now."""

    sequences: int
    tiles: int
    number: Stream
    length: Stream


def captured(at: Importer, keys: Stored, values: Stored, prefix: str) -> Cache:
    """The caches of a step that is imported by itself, with the rows of the capture in them.

    Their length is an input, so that the same program takes a step behind any cache that has room.
    """
    _, heads, past, size = keys.data.shape
    rows = at.tiling.cache_rows
    tiles = past // rows + 1
    for name, given in (("keys", keys), ("values", values)):
        cache = np.zeros((heads, tiles * rows, size), ml_dtypes.bfloat16)
        cache[:, :past] = given.data[0]
        at.inputs[f"{prefix}{name}"] = cache.reshape(-1, size)
    at.inputs[f"{prefix}length"] = np.full(heads, past)
    length = at.graph.source(f"{prefix}length", Tile(UINT32), [heads])
    return Cache(heads, tiles, at.graph.count([heads], name=f"{prefix}number"), length)
