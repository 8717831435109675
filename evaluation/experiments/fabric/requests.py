"""Figs. 14, 15 and 21: decode attention for batches of requests."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from experiments.fabric.points import FabricPoint, attentions
from experiments.layers import CACHE_ROWS
from step_models.configurations import DATA
from step_models.kv_lengths import measured_kv_lengths

ROOM = {16: 4672, 64: 6464, 80: 6528}
"""Rows that the cache has for a request, by batch. Three batches of 16 have longer ones, which get what they need."""


def parallelization() -> Iterator[FabricPoint]:
    """Fig. 14: batches of 64 requests with lengths of low, medium and high variance."""
    return _measured(64)


def other_batches() -> Iterator[FabricPoint]:
    """Fig. 21, beside those of Fig. 14: batches of 16 and 80 requests."""
    yield from _measured(16)
    yield from _measured(80)


def _measured(batch: int) -> Iterator[FabricPoint]:
    for requests in batches(batch):
        yield from attentions(*requests)


def batches(batch: int) -> Iterator[tuple[str, np.ndarray, int]]:
    """The batches of so many requests: name, lengths, and rows of a cache."""
    for path in sorted((DATA / "kv_lengths" / f"b{batch}").glob("*.npy")):
        lengths = measured_kv_lengths(f"b{batch}/{path.stem}")
        needed = (int(lengths.max()) // CACHE_ROWS + 1) * CACHE_ROWS
        yield path.stem, lengths, max(ROOM[batch], needed)


def prefixes() -> Iterator[FabricPoint]:
    """Fig. 15: the first requests of one batch."""
    lengths = measured_kv_lengths("b64/conv_stdev0996_4007_4070")
    for batch in (16, 32, 48, 64):
        yield from attentions(f"B={batch}", lengths[:batch], ROOM[64])
