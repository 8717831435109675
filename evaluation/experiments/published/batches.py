"""The points of Figs. 14, 15 and 21: decode attention for batches of requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np

from experiments.published import attention
from experiments.published.point import PublishedPoint
from experiments.published.recorded import recorded
from step import Graph
from step_models.kv_lengths import measured_kv_lengths

ROOM = {16: 146, 64: 202, 80: 204}
"""Tiles that the cache has for a request, by batch."""

KNOWN = {
    "conv_stdev0477_0271_0334": (43391, 50171, 39961),
    "conv_stdev0754_0181_0244": (43548, 60842, 43450),
    "conv_stdev0996_4007_4070": (70209, 64361, 49093),
    "B=16": (43789, 15445, 16104),
    "B=32": (43789, 27917, 22690),
    "B=48": (43789, 39004, 30921),
    "B=64": (70209, 64361, 49093),
}
"""Published cycles by batch: coarse, interleaved, dynamic."""


def requests(name: str, lengths: np.ndarray, room: int) -> Iterator[PublishedPoint]:
    """A batch in every arrangement."""
    totals = {"query_parts_D{}": len(lengths), "region{}_key_address_pieces": tiles(lengths)}
    cycles = dict(zip(attention.ARRANGEMENTS, KNOWN.get(name, ()), strict=False))
    for arrangement, make in attention.ARRANGEMENTS.items():

        def build(make: Any = make) -> tuple[Graph, dict[str, Any]]:
            made = make(lengths, room)
            return made.graph, made.inputs

        point = f"{name} {arrangement}"
        known = cycles.get(arrangement) or recorded(point)
        yield PublishedPoint(point, attention.PROFILE, build, known, symbols=as_if_alone(totals))


def tiles(lengths: np.ndarray) -> int:
    """Lengths of all caches, with the new rows."""
    return int((lengths // attention.ROWS + 1).sum())


def as_if_alone(totals: Mapping[str, int]) -> dict[str, int]:
    """Symbols by name, with ``{}`` for the number of a region, as if the first region did all: which one does what is
    known behind a run only, and bytes depend on the sums alone."""
    return {
        name.format(region): total if region == 0 else 0
        for name, total in totals.items()
        for region in range(attention.REGIONS)
    }


def measured(batch: int) -> Iterator[tuple[str, np.ndarray, int]]:
    """The batches of so many requests: name, lengths, and tiles of a cache."""
    for path in sorted((attention.DATA / f"b{batch}").glob("*.npy")):
        lengths = measured_kv_lengths(f"b{batch}/{path.stem}")
        yield path.stem, lengths, max(ROOM[batch], int(lengths.max()) // attention.ROWS + 1)  # where tiles lie is free


def prefixes() -> Iterator[tuple[str, np.ndarray, int]]:
    """The first requests of one batch."""
    lengths = measured_kv_lengths("b64/conv_stdev0996_4007_4070")
    return ((f"B={batch}", lengths[:batch], ROOM[64]) for batch in (16, 32, 48, 64))


def batches() -> Iterator[tuple[str, np.ndarray, int]]:
    """All of them."""
    return chain(prefixes(), *(measured(batch) for batch in ROOM))


def parallelization() -> Iterator[PublishedPoint]:
    """Fig. 14: batches of 64 requests with lengths of low, medium and high variance."""
    for batch in measured(64):
        yield from requests(*batch)


def other_batches() -> Iterator[PublishedPoint]:
    """Fig. 21, beside those of Fig. 14: batches of 16 and 80 requests."""
    for batch in chain(measured(16), measured(80)):
        yield from requests(*batch)


def growing() -> Iterator[PublishedPoint]:
    """Fig. 15: batches of 16 to 64 requests."""
    for batch in prefixes():
        yield from requests(*batch)
