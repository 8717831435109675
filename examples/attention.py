"""Decode attention over ragged KV caches, in the form of FlashAttention (`step_models.attention`).

Every request gets one new token, and has a cache of keys and values, whose length differs from request to request. Its
KV heads are independent, so several regions of the fabric work at the same time. They get them by turns
(`interleaved`), or whenever they are free (`parallel`): then a long one delays nobody else. They read the cache in
tiles of four rows, the last one padded; or its keys are one tile of as many rows as there are (`whole`).
"""

from __future__ import annotations

import numpy as np

from step import FabricConfig, MemoryConfig, Program
from step_models import attention
from step_models.kv_lengths import measured_kv_lengths

TRACE = "b16/conv_stdev1455_0821_0836"
SCALE = 128
"""Lengths of the trace are divided by this and rounded down, so that a simulation takes seconds."""


def build(
    lengths: np.ndarray,
    *,
    dynamic: bool,
    regions: int = 3,
    heads: int = 2,
    group: int = 4,
    size: int = 16,
    rows: int | None = 4,
) -> Program:
    """Attention for requests with ``lengths`` [requests] rows in the cache of each of their ``heads`` KV heads."""
    return attention.program(
        lengths,
        arrangement="dynamic" if dynamic else "interleaved",
        regions=regions,
        heads=heads,
        group=group,
        size=size,
        rows=rows,
        fabric=FabricConfig(
            matmul_lanes=4,
            vector_lanes=4,
            link_bytes=32,
            dynamic_rows=max(64, int(lengths.max()) + 1),
            memory=MemoryConfig(beat_bytes=32),
        ),
        name="attention_" + ("whole" if rows is None else "parallel" if dynamic else "interleaved"),
    )


def interleaved() -> Program:
    """Three regions get sequences by turns."""
    return build(measured_kv_lengths(TRACE) // SCALE, dynamic=False)


def parallel() -> Program:
    """A sequence goes to whichever of three regions is free."""
    return build(measured_kv_lengths(TRACE) // SCALE, dynamic=True)


def whole() -> Program:
    """The same, with the keys of a sequence as one tile of dynamic rows."""
    return build(measured_kv_lengths(TRACE) // SCALE, dynamic=True, rows=None)


def small() -> Program:
    """The dynamic arrangement for four requests: two regions, one KV head, rows of eight numbers."""
    return build(np.array([5, 0, 9, 2]), dynamic=True, regions=2, heads=1, size=8)


def program() -> Program:
    """The dynamic arrangement."""
    return parallel()
