"""A cache of rows: the new row of every request is appended and stored, then all its tiles are read again."""

from __future__ import annotations

import numpy as np

from scenarios.scenario import Bench, add, broken, builder
from step.functions.cache import CacheEnd, CacheRows, CacheTiles
from step.functions.edit import AppendRow, FilterLastTile
from step.functions.row import RowSum
from step.functions.transpose import Transpose
from step.language.dtypes import BF16, UINT32
from step.language.faults import Fault
from step.language.types import Tile

ADDRESS = Tile(UINT32)
REQUESTS, TILES, ROWS = 3, 3, 2


@builder
def _cached(bench: Bench, lengths: str = "0 3 4 D", requests: str = "2 0 1 D") -> None:
    cache = bench.graph.tensor("cache", (REQUESTS * TILES * ROWS, 3), BF16)
    bench.inputs["cache"] = (np.arange(54) % 23 - 11).reshape(18, 3).astype(BF16.numpy)
    request = bench.play("request", requests, ["N"], ADDRESS)
    length = bench.play("length", lengths, request.shape, ADDRESS)
    longer = bench.play("longer", "1 4 5 D", request.shape, ADDRESS)
    row = bench.play("row", "41 43 45 D", request.shape, Tile(BF16, 1, 3))
    end = request.map(CacheEnd(REQUESTS, TILES, ROWS), length)
    last = end.load_random(cache, tile=(ROWS, 3), name="last").map(AppendRow(), length, row)
    stored = last.store_random(cache, end)
    # Only behind its acknowledgement is a request read again.
    known = request.zip(longer).reshape(1)[0].expand(stored.reshape(1)[0], rank=1).flatten(0, 1)
    request, longer = known.item_of(0), known.item_of(1)
    tiles = request.flat_map(CacheTiles(REQUESTS, TILES, ROWS), longer).load_random(cache, tile=(ROWS, 3), name="all")
    counts = longer.flat_map(CacheRows(ROWS)).assume_shape(tiles.shape)
    tiles.map(FilterLastTile(), counts).map(Transpose()).map(RowSum()).sink("y")


add("map", "kv-cache", _cached())
broken("map", "kv-cache-full", Fault.OUT_OF_RANGE, _cached(lengths="0 3 6 D"))
