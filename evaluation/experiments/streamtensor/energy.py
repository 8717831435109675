"""Energy of a token of StreamTensor's models, of all that switches (docs/energy.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from experiments.rows import digest
from experiments.streamtensor import models, points
from experiments.streamtensor.models import MODELS
from experiments.work import Experiment
from step import bind, metrics
from step.programs.energy.model import PARTS


@dataclass(frozen=True)
class Point:
    """A model of `MODELS`, on the larger hardware."""

    name: str


def energy() -> Iterator[Point]:
    """All models."""
    return map(Point, MODELS)


def measured(point: Point) -> dict[str, object]:
    """Picojoules of a token behind `SHOWN` others: those of three without those of one, halved."""
    first, third = (_picojoules(point, count) for count in (1, 3))
    return {name: round((third[name] - first[name]) / 2) for name in PARTS}


def _picojoules(point: Point, count: int) -> dict[str, float]:
    model, program = points._program(point.name, "fast", points.MEGAHERTZ)
    inputs = model.batch([0], count, past=points.SHOWN).inputs(None, None)
    program = replace(program, inputs={**program.inputs, **inputs})
    return {name: float(each) for name, each in metrics(program).bind(bind(program)).energy.parts.items()}


def sources(figure: str) -> str:
    """A digest of the files that decide the results."""
    return digest("torch", __file__, points.__file__, models.__file__)


COLUMNS = ("point", *PARTS, "cpu_seconds", "sources", "version")
CAMPAIGN = Experiment(
    "streamtensor",
    COLUMNS,
    {"energy": energy},
    measured,
    sources,
    lambda row: f"{sum(float(row[each]) for each in PARTS) / 1e9:.2f} mJ",
)
