"""Batches of requests for attention that come one after the other: how long a request takes, by load and lengths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace

import numpy as np

from experiments.fabric.points import ARRANGEMENTS, attention_symbols, on_fabric
from experiments.fabric.record import bytes_of, digest_with, told_of
from experiments.layers import CACHE_ROWS
from experiments.work import Experiment
from step import Program, Simulator, metrics
from step.running.result import RunResult
from step_models import attention
from step_models.kv_lengths import sampled_kv_lengths

DEVIATIONS = (0.0, 0.5, 1.0, 1.5, 2.0)
"""Standard deviations of the lengths, relative to their mean."""
LOADS = (0.25, 0.5, 0.75, 0.9, 1.0)
"""Work that comes, relative to what all regions can do: a tile of keys takes as long as its link needs for it."""
REGIONS, BATCH, BATCHES, MEAN, SIZE = 4, 16, 8, 256, 64
SEED, OTHER_SEEDS = 1, (2, 3)
"""Of the lengths; with the others some points are drawn again."""
AGAIN = (0.5, 1.0)
"""The loads of these."""


@dataclass(frozen=True)
class Arrivals:
    """A point."""

    deviation: float
    load: float
    arrangement: attention.Arrangement
    seed: int = SEED

    @property
    def lengths(self) -> np.ndarray:
        """Lengths of the KV caches of all requests of all batches."""
        return sampled_kv_lengths(BATCH * BATCHES, mean=MEAN, deviation=self.deviation * MEAN, seed=self.seed)

    @property
    def gaps(self) -> np.ndarray:
        """Cycles between requests: those of a batch come together, and batches at equal distances."""
        tiles = (self.lengths + CACHE_ROWS) // CACHE_ROWS
        cycles = tiles.sum() / BATCHES * (CACHE_ROWS * SIZE * 2 / 64) / REGIONS
        gaps = np.zeros(BATCH * BATCHES, np.int64)
        gaps[BATCH::BATCH] = round(cycles / self.load)
        return gaps

    @property
    def name(self) -> str:
        """All of its parameters."""
        seed = "" if self.seed == SEED else f" seed {self.seed}"
        return f"deviation {self.deviation} load {self.load} {self.arrangement}{seed}"

    def program(self) -> Program:
        """One KV head of each request; every region gets as many requests of a batch as the others."""
        program = attention.program(
            self.lengths,
            arrangement=self.arrangement,
            regions=REGIONS,
            block=BATCH // REGIONS if self.arrangement == "coarse" else None,
            heads=1,
            group=8,
            size=SIZE,
            rows=CACHE_ROWS,
            gaps=self.gaps,
            values=False,
        )
        return on_fabric(program, 2048)


def latency(result: RunResult) -> float:
    """The mean of the cycles between a request and its result in memory, of a run with events.

    Which result is whose does not matter for the mean.
    """
    assert result.events is not None
    came, done = (result.events[name] for name in ("gap_clock", "store_output"))
    mean: float = (done.cycles[done.control & 2 > 0].mean() - came.cycles[came.control & 2 > 0].mean()).item()
    return mean


def arrivals() -> Iterator[Arrivals]:
    """All points, then those that are drawn again; of equal lengths there is one draw."""
    once = list(_once())
    yield from once
    for seed in OTHER_SEEDS:
        yield from (replace(each, seed=seed) for each in once if each.load in AGAIN and each.deviation)


def _once() -> Iterator[Arrivals]:
    for deviation in DEVIATIONS:
        for load in LOADS:
            for arrangement in ARRANGEMENTS:
                yield Arrivals(deviation, load, arrangement)


def measured(point: Arrivals) -> dict[str, object]:
    """The row of a point by the fast model; raises `Defect` where the bytes that it moved are not the symbolic ones."""
    program = point.program()
    result = Simulator(program).run(events=True).result
    return {
        **asdict(point),
        "latency": round(latency(result), 1),
        "cycles": result.cycles,
        **bytes_of(point.name, metrics(program), attention_symbols(point.lengths, point.arrangement), result),
        **told_of(result, program),
    }


def sources(study: str) -> str:
    """A digest of the files that decide the results."""
    return digest_with(__file__)


COLUMNS = (
    *(each.name for each in fields(Arrivals)),
    *("point", "latency", "cycles", "off_chip_bytes", "moved_bytes", "firings", "tokens", "cpu_seconds", "engine"),
    *("version", "sources", "fabric"),
)
CAMPAIGN = Experiment("beyond", COLUMNS, {"arrivals": arrivals}, measured, sources)
