"""Rows in tiles and back: all of them in one tile, or in tiles of so many rows, the last of which is padded."""

from __future__ import annotations

from step import Stream
from step.functions import RetileRow, RetileStreamify, SelectValid


def joined(rows: Stream, prefix: str) -> Stream:
    """All rows [n] in one tile, or none."""
    return rows.promote(name=f"{prefix}promoted").accum(RetileRow(), name=f"{prefix}tile")


def separate(tile: Stream, rows: Stream, prefix: str) -> Stream:
    """The rows [n] of the one tile."""
    return tile.flat_map(RetileStreamify(1, "row"), name=f"{prefix}rows").assume_shape(rows.shape)


def packed(rows: Stream, tile_rows: int, prefix: str) -> tuple[Stream, Stream]:
    """Rows [n] in tiles of ``tile_rows`` rows, the last one padded; and which of their rows are no padding."""
    chunks, padding = rows.reshape(tile_rows, name=f"{prefix}chunks")
    tiles = chunks.accum(RetileRow(), name=f"{prefix}tiles")
    return tiles, padding.flatten(0, 1, name=f"{prefix}flags").map(SelectValid(), name=f"{prefix}keep")


def unpacked(tiles: Stream, keep: Stream, rows: Stream, prefix: str) -> Stream:
    """The rows [n] of tiles, without those that are padding."""
    split = tiles.flat_map(RetileStreamify(1, "row"), name=f"{prefix}rows")
    (kept,) = split.partition(keep, targets=1, name=f"{prefix}kept")
    return kept.assume_shape(rows.shape)
