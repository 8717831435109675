"""A fabric that has room for the tiles of a program, whatever their size."""

from __future__ import annotations

from dataclasses import replace

from step import FabricConfig, Graph, MemoryConfig

PUBLISHED = FabricConfig(
    matmul_lanes=2048,
    vector_lanes=2048,
    link_bytes=64,
    memory=MemoryConfig(beat_bytes=64, channels=32, interval=2, latency=16),
)
"""What the published evaluation assumes of mixtures of experts with static tiles: 4096 FLOPs a cycle of every matmul,
links of 64 bytes, and 1024 bytes a cycle of off-chip memory."""

WIDE = replace(
    PUBLISHED,
    matmul_lanes=512,
    vector_lanes=512,
    link_bytes=1024,
    memory=replace(PUBLISHED.memory, beat_bytes=1024, channels=2),
)
"""The same bandwidth for a single load, with lanes to multiply all that it brings by one row: for models that decode,
whose products come one after the other."""


def fitting(graph: Graph, fabric: FabricConfig = PUBLISHED, *, rows: int = 1) -> FabricConfig:
    """``fabric`` with pages large enough for all static tiles that the streams of ``graph`` carry.

    Tiles of dynamic size may have so many ``rows``.
    """
    tiles = [tile for stream in graph.streams() for tile in stream.element.tiles if tile.is_static]
    page = max((int(tile.bytes) for tile in tiles), default=1)
    page_bytes = max(fabric.page_bytes, 1 << (page - 1).bit_length())
    size, rows = -(-fabric.scratchpad_bytes // page_bytes) * page_bytes, max(fabric.dynamic_rows, rows)
    return replace(fabric, dynamic_rows=rows, page_bytes=page_bytes, scratchpad_bytes=size)
