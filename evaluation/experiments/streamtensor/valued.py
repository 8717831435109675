"""Two layers of full size of StreamTensor's models with all values, on the mapping that takes chunks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from experiments.rows import digest
from experiments.streamtensor import models, points
from experiments.streamtensor.models import MODELS, by_torch
from experiments.streamtensor.points import MEGAHERTZ, mapped
from experiments.work import Experiment
from step_torch.generating import LanguageModel, run

PROMPT, COUNT, CHUNK = tuple(range(1, 12)), 4, 8
"""A prompt in two chunks, and tokens that are written behind it."""


@dataclass(frozen=True)
class Point:
    """A model of `MODELS`, with the layers that are captured."""

    name: str


def valued() -> Iterator[Point]:
    """All models."""
    return map(Point, MODELS)


def measured(point: Point) -> dict[str, object]:
    """Whether the interpreter and the fast model have the same outputs, and how many tokens torch's twin has, too."""
    import torch

    model = MODELS[point.name]
    tiling, fabric = mapped("chunks", MEGAHERTZ)
    loaded = LanguageModel.load(model.made())
    program = loaded.program(PROMPT, COUNT, tiling=tiling, fabric=fabric, chunk=CHUNK)
    meant, timed = (run(program, backend) for backend in ("interpret", "approx"))
    outputs = [
        np.asarray(each).tobytes() == np.asarray(timed.outputs[name]).tobytes() for name, each in meant.outputs.items()
    ]
    batch = loaded.batch(PROMPT, COUNT, chunk=CHUNK)
    written = batch.written(meant.outputs["tokens"], 0)
    with torch.no_grad():
        twin = by_torch(model).generate(torch.tensor([PROMPT]), max_new_tokens=COUNT, do_sample=False, pad_token_id=0)
    return {
        "layers": model.captured,
        "weights": model.weights // model.layers * model.captured,
        "cycles": timed.cycles,
        "outputs": len(outputs),
        "equal": sum(outputs),
        "tokens": COUNT,
        "as_torch": sum(one == other for one, other in zip(written, twin[0, len(PROMPT) :].tolist(), strict=True)),
    }


def sources(figure: str) -> str:
    """A digest of the files that decide the results."""
    return digest("torch", __file__, models.__file__, points.__file__)


COLUMNS = (
    *("point", "layers", "weights", "cycles", "outputs", "equal", "tokens", "as_torch"),
    *("cpu_seconds", "sources", "version"),
)
CAMPAIGN = Experiment(
    "streamtensor", COLUMNS, {"valued": valued}, measured, sources, lambda row: f"{row['equal']} outputs equal"
)
