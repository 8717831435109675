"""The points of Figs. 14, 15 and 21: decode attention for batches of requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from experiments.published import attention
from experiments.published.point import Point
from step import Graph
from step_models.kv_lengths import measured_kv_lengths

ROOM = {16: 146, 64: 202, 80: 204}
"""Tiles that the cache has for a request, by batch."""

KNOWN = {
    "conv_stdev0477_0271_0334": (43391, 50171, 39961),
    "conv_stdev0754_0181_0244": (43548, 60842, 43450),
    "conv_stdev0996_4007_4070": (70209, 64361, 49093),
}
"""Published cycles by trace: coarse, interleaved, dynamic."""


def requests(name: str, lengths: np.ndarray, room: int, cycles: Mapping[str, int]) -> Iterator[Point]:
    """A batch in every arrangement."""
    totals = {"query_parts_D{}": len(lengths), "region{}_key_address_pieces": tiles(lengths)}
    for arrangement, make in attention.ARRANGEMENTS.items():

        def build(make: Any = make) -> tuple[Graph, dict[str, Any]]:
            made = make(lengths, room)
            return made.graph, made.inputs

        known = cycles.get(arrangement)
        yield Point(f"{name} {arrangement}", attention.PROFILE, build, known, symbols=as_if_alone(totals))


def tiles(lengths: np.ndarray) -> int:
    """Of all caches, with the new rows."""
    return int((lengths // attention.ROWS + 1).sum())


def as_if_alone(totals: Mapping[str, int]) -> dict[str, int]:
    """Symbols by name, with ``{}`` for the number of a region, as if the first region did all: which one does what is
    known behind a run only, and bytes depend on the sums alone."""
    return {
        name.format(region): total if region == 0 else 0
        for name, total in totals.items()
        for region in range(attention.REGIONS)
    }


def parallelization() -> Iterator[Point]:
    """Fig. 14: batches of 64 requests with lengths of low, medium and high variance."""
    return _measured(64)


def other_batches() -> Iterator[Point]:
    """Fig. 21, beside those of Fig. 14: batches of 16 and 80 requests."""
    yield from _measured(16)
    yield from _measured(80)


def _measured(batch: int) -> Iterator[Point]:
    for path in sorted((attention.DATA / f"b{batch}").glob("*.npy")):
        cycles = dict(zip(attention.ARRANGEMENTS, KNOWN.get(path.stem, ()), strict=False))
        lengths = measured_kv_lengths(f"b{batch}/{path.stem}")
        room = max(ROOM[batch], int(lengths.max()) // attention.ROWS + 1)  # where tiles lie does not matter
        yield from requests(path.stem, lengths, room, cycles)


def prefixes() -> Iterator[Point]:
    """Fig. 15: the first requests of one batch."""
    lengths = measured_kv_lengths("b64/conv_stdev0996_4007_4070")
    for batch, *cycles in (
        (16, 43789, 15445, 16104),
        (32, 43789, 27917, 22690),
        (48, 43789, 39004, 30921),
        (64, 70209, 64361, 49093),
    ):
        known = dict(zip(attention.ARRANGEMENTS, cycles, strict=True))
        yield from requests(f"B={batch}", lengths[:batch], ROOM[64], known)
