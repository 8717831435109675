"""Other ways to give the requests of Figs. 14 and 21 to regions: even blocks, the longest first, by their lengths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from experiments.fabric.points import FabricPoint, attended
from experiments.fabric.requests import ROOM, batches
from experiments.layers import CACHE_ROWS, REGIONS

SCHEDULERS = ("even", "longest", "least", "oracle")
"""Blocks of equal count, one a region; dynamic regions that find the longest request first; each request by turns to
the region with the fewest tiles so far, and the longest first: both have the lengths before the first cycle."""


def schedulers() -> Iterator[FabricPoint]:
    """All batches with every scheduler."""
    for batch in ROOM:
        for name, lengths, room in batches(batch):
            falling = np.argsort(-lengths, kind="stable")
            yield attended(f"{name} even", lengths, room, arrangement="coarse", block=-(-batch // REGIONS))
            yield attended(f"{name} longest", lengths[falling], room, arrangement="dynamic")
            for kind, order in (("least", range(batch)), ("oracle", falling.tolist())):
                regions = assigned(lengths, order)
                yield attended(f"{name} {kind}", lengths, room, arrangement="assigned", assigned=regions)


def assigned(lengths: np.ndarray, order: Iterable[int]) -> list[int]:
    """The region of each request, if they are given, in this ``order``, to that with the fewest tiles so far."""
    tiles, regions = tiles_of(lengths), [0] * len(lengths)
    sums = [0] * REGIONS
    for each in order:
        regions[each] = sums.index(min(sums))
        sums[regions[each]] += int(tiles[each])
    return regions


def tiles_of(lengths: np.ndarray) -> np.ndarray:
    """Tiles of a cache with the new row."""
    return np.asarray(lengths // CACHE_ROWS + 1)
