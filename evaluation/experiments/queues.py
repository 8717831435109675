"""Fig. 15 on the published timing with deeper channels.

Published are channels of one element. A region that is busy then holds up all others whose turn comes behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from inspect import getfile

import numpy as np

from experiments.published import attention, functions
from experiments.rows import PUBLISHED, Row, digest
from experiments.work import Experiment
from sim_published.backend import run
from step_models.kv_lengths import measured_kv_lengths

COLUMNS = ("point", "batch", "depth", "arrangement", "cycles", "cpu_seconds", "version", "sources")
TRACE, ROOM = "b64/conv_stdev0996_4007_4070", 202
"""The lengths of Fig. 15, and the tiles that the cache has for a request."""
BATCHES, DEPTHS = (16, 32, 48, 64), (1, 2, 4, 16)


@dataclass(frozen=True)
class QueuePoint:
    """The first ``batch`` requests, with ``depth`` elements in each channel."""

    batch: int
    depth: int
    arrangement: str

    @property
    def name(self) -> str:
        """In its file."""
        return f"B={self.batch}, depth {self.depth}, {self.arrangement}"


def points() -> Iterator[QueuePoint]:
    """Turns and dynamic regions."""
    for batch in BATCHES:
        for depth in DEPTHS:
            for arrangement in ("interleaved", "dynamic"):
                yield QueuePoint(batch, depth, arrangement)


def measured(point: QueuePoint) -> dict[str, object]:
    """The row of a point."""
    made = attention.ARRANGEMENTS[point.arrangement](lengths(point.batch), ROOM)
    profile = replace(attention.PROFILE, channel_depth=point.depth)
    return {**asdict(point), "cycles": run(made.graph, made.inputs, profile=profile).cycles}


def lengths(batch: int) -> np.ndarray:
    """Lengths of the caches of the first requests."""
    return measured_kv_lengths(TRACE)[:batch]


def sources(figure: str) -> str:
    """A digest of the files that decide the results."""
    return digest("files", PUBLISHED, getfile(attention), getfile(functions), __file__)


def gains(rows: Sequence[Row]) -> dict[tuple[int, int], float]:
    """Cycles by turns over those of dynamic regions, by batch and depth."""
    cycles = {(int(row["batch"]), int(row["depth"]), row["arrangement"]): int(row["cycles"]) for row in rows}
    return {
        (batch, depth): cycles[batch, depth, "interleaved"] / count
        for (batch, depth, arrangement), count in cycles.items()
        if arrangement == "dynamic" and (batch, depth, "interleaved") in cycles
    }


CAMPAIGN = Experiment("queues", COLUMNS, {"15": points}, measured, sources)
