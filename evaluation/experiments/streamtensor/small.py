"""Small sizes of StreamTensor's models on RTL, fast model and interpreter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cosim.comparing.compare import compare
from experiments.rows import ROOT, digest
from experiments.streamtensor import models, points
from experiments.streamtensor.models import MODELS
from experiments.streamtensor.points import MEGAHERTZ, program_of
from experiments.work import Experiment

PROMPT, COUNT = (1, 2, 3, 4, 5), 3
"""A prompt, in two chunks where these are of four rows, and tokens that are written behind it."""
SCALE = 16
"""By how much columns, lanes and links of a mapping are divided, as a small size has so many fewer columns."""


@dataclass(frozen=True)
class Point:
    """A model of `MODELS`, in its small size, on the default hardware or a ``mapping`` of `MAPPINGS`."""

    model: str
    mapping: str = ""

    @property
    def name(self) -> str:
        """Both."""
        return f"{self.model} {self.mapping}".strip()


def small() -> Iterator[Point]:
    """All models, and the mappings that are shown of them."""
    yield from map(Point, MODELS)
    yield from (Point("gpt2", each) for each in ("fast", "chunks", "shared"))
    yield Point("llama", "shared")


def measured(point: Point) -> dict[str, object]:
    """Cycles of both, and tokens of channels that are at another cycle, or of other control."""
    model = MODELS[point.model].small().loaded()
    program = (
        program_of(model, point.mapping, MEGAHERTZ, PROMPT, COUNT, scale=SCALE)
        if point.mapping
        else model.program(PROMPT, COUNT)
    )
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
    return digest("torch", __file__, models.__file__, points.__file__, ROOT / "hw", ROOT / "cosim")


COLUMNS = (
    *("point", "operators", "rtl_cycles", "model_cycles", "tokens", "off", "outputs_equal", "passed"),
    *("cpu_seconds", "sources", "version"),
)
CAMPAIGN = Experiment(
    "streamtensor", COLUMNS, {"small": small}, measured, sources, lambda row: f"{int(row['rtl_cycles']):,} cycles"
)
