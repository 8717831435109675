"""Softmax over rows of different lengths: a row is a ragged stream of tiles, and waits on chip for its maximum and sum.

`program` makes one after the other, and `online` both at once: what was summed is scaled whenever the maximum grows.
"""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np

from step import BF16, UINT32, FabricConfig, Graph, MemoryConfig, Program, Stream, Tile
from step.functions import Add, CacheRows, CacheTiles, Div, Exp, FilterLastTile, Max, MulAdd, RowMax, RowSum, Sub

COLUMNS, MOST = 16, 4
"""Columns of a tile, and tiles that a row has room for."""

LENGTHS = (40, 0, 16, 1, 64, 17, 0, 33)

POWER, QUOTIENT, ROUNDING = 2.2e-6, 1.2e-6, 2**-24
"""Largest relative errors of `Exp` and `Div` with an FP32 result, and of rounding to it."""


def load_rows(graph: Graph, lengths: Stream) -> Stream:
    """Tiles [1, COLUMNS] of the rows of ``x``, [rows, tiles], with -inf behind the last column of a row."""
    (rows,) = lengths.shape
    x = graph.tensor("x", (int(rows), MOST * COLUMNS), BF16)
    number = graph.count(reference=lengths, name="number")
    addresses = number.flat_map(CacheTiles(int(rows), MOST, COLUMNS), lengths, name="addresses")
    # As many counts as addresses, which the types do not know.
    valid = lengths.flat_map(CacheRows(COLUMNS), name="valid").assume_shape(addresses.shape)
    tiles = addresses.load_random(x, tile=(1, COLUMNS), name="load_x")
    masked: Stream = tiles.map(FilterLastTile(pad=-np.inf, axis="col"), valid, name="masked")
    return masked


def softmax(x: Stream) -> Stream:
    """Softmax of every row of tiles. A row is kept twice: until its maximum is known, and until its sum is."""
    held = x.bufferize(name="held_x").streamify(name="x_again")
    largest = x.map(RowMax(), name="tile_max").accum(Max(), name="max")
    shifted = held.map(Sub(), largest.along(held, name="max_repeated"), name="shifted")
    powers = shifted.map(Exp(), name="powers")
    again = powers.bufferize(name="held_powers").streamify(name="powers_again")
    total = powers.map(RowSum(), name="tile_sum").accum(Add(), name="sum")
    quotients: Stream = again.map(Div(), total.along(again, name="sum_repeated"), name="quotients")
    return quotients


def softmax_online(x: Stream) -> Stream:
    """The same in one pass. A row is kept once, and its powers are computed twice."""
    held = x.bufferize(name="held_x").streamify(name="x_again")
    tile_max = x.map(RowMax(), name="tile_max")
    largest, running, before = (
        tile_max.accum(Max(), name="max"),
        tile_max.scan(Max(), name="running_max"),
        tile_max.scan(Max(), exclusive=True, name="max_before"),
    )
    # The sum so far is one of powers below the last maximum; the first one is of -inf, and has no sum.
    scale = before.map(Sub(), running, name="growth").map(Exp(), name="scale")
    part = x.map(Sub(), running, name="shifted").map(Exp(), name="powers").map(RowSum(), name="tile_sum")
    total = scale.accum(MulAdd(), part, name="sum")
    shifted = held.map(Sub(), largest.along(held, name="max_repeated"), name="shifted_again")
    quotients: Stream = shifted.map(Exp(), name="powers_again").map(
        Div(), total.along(held, name="sum_repeated"), name="quotients"
    )
    return quotients


def reference(x: np.ndarray, lengths: Sequence[int]) -> np.ndarray:
    """Softmax in float64 of the first ``lengths`` columns of the rows ``x``, as the tiles [1, COLUMNS] of all rows."""
    tiles = [np.zeros((0, COLUMNS))]
    for row, length in zip(x.astype(np.float64), lengths, strict=True):
        padded = np.full(-(-length // COLUMNS) * COLUMNS, -np.inf)
        padded[:length] = row[:length]
        powers = np.exp(padded - padded.max(initial=-np.inf))
        tiles.append((powers / powers.sum()).reshape(-1, COLUMNS))
    return np.concatenate(tiles)


def tolerance(running: bool) -> float:
    """A bound on the relative error of a quotient of powers.

    Differences of BF16 numbers are far more precise than their powers. All terms of a sum are positive, so it has the
    error of its terms, and that of the additions that a term goes through. A ``running`` sum is also scaled, by a power
    of its own for every tile behind the first one.
    """
    additions = COLUMNS.bit_length() - 1 + MOST
    scaling = (MOST - 1) * (POWER + ROUNDING) if running else 0
    return 2 * POWER + QUOTIENT + additions * ROUNDING + scaling


def build(lengths: Sequence[int] = LENGTHS, running: bool = False) -> Program:
    """Softmax of rows of ``lengths`` columns, 0 to MOST * COLUMNS, in one pass if ``running``."""
    graph = Graph("softmax_online" if running else "softmax")
    rows = load_rows(graph, graph.source("lengths", Tile(UINT32), [len(lengths)]))
    (softmax_online if running else softmax)(rows).store("output")

    random = np.random.default_rng(0)
    x = (4 * random.standard_normal((len(lengths), MOST * COLUMNS))).astype(ml_dtypes.bfloat16)
    return Program(
        graph,
        inputs={"lengths": np.array(lengths), "x": x},
        expected={"output": reference(x, lengths)},
        tolerance=tolerance(running),
        fabric=FabricConfig(link_bytes=32, memory=MemoryConfig(beat_bytes=32)),
    )


def program() -> Program:
    """With the maximum and the sum of a row."""
    return build()


def online() -> Program:
    """With running maxima and sums."""
    return build(running=True)
