"""Small sizes of StreamTensor's models on RTL, fast model and interpreter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cosim.comparing.compare import compare
from experiments.rows import ROOT, digest
from experiments.streamtensor import models
from experiments.streamtensor.models import MODELS
from experiments.work import Experiment

PROMPT, COUNT = (1, 2, 3), 3
"""A prompt, and tokens that are written behind it."""


@dataclass(frozen=True)
class Point:
    """A model of `MODELS`, in its small size."""

    name: str


def small() -> Iterator[Point]:
    """All models."""
    return map(Point, MODELS)


def measured(point: Point) -> dict[str, object]:
    """Cycles of both, and tokens of channels that are at another cycle, or of other control."""
    program = MODELS[point.name].small().loaded().program(PROMPT, COUNT)
    found = compare(program, optimize=False)
    return {
        "operators": len(program.graph.nodes),
        "rtl_cycles": found.exact_cycles,
        "model_cycles": found.approximate_cycles,
        "tokens": found.tokens,
        "off": found.mismatches,
        "outputs_equal": found.outputs_equal,
        "passed": found.passed,
    }


def sources(figure: str) -> str:
    """A digest of the files that decide the results."""
    return digest("torch", __file__, models.__file__, ROOT / "hw", ROOT / "cosim")


COLUMNS = (
    *("point", "operators", "rtl_cycles", "model_cycles", "tokens", "off", "outputs_equal", "passed"),
    *("cpu_seconds", "sources", "version"),
)
CAMPAIGN = Experiment(
    "streamtensor", COLUMNS, {"small": small}, measured, sources, lambda row: f"{int(row['rtl_cycles']):,} cycles"
)
