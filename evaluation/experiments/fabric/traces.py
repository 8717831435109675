"""Fig. 9 with other traces: the measured routings of a large batch, cut into batches of its size."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.fabric.points import FabricPoint, mixture
from experiments.layers import MODELS
from step_models.configurations import configuration
from step_models.routing import measured_routing

FIGURE, BATCH, LARGE = "9", 64, 1024
HEIGHTS = (8, 16, 32, 64)
COUNT = LARGE // BATCH
"""Traces of a model."""


def names(model: str, number: int) -> list[str]:
    """The points of a part, that with tiles of dynamic size last."""
    return [f"{model} {number} {rows or 'dynamic'}" for rows in (*HEIGHTS, None)]


def other_traces() -> Iterator[FabricPoint]:
    """All tiles of Fig. 9 on every part of the trace of a large batch."""
    for short, full in MODELS.items():
        model = configuration(full)
        routing = measured_routing(f"{short}_b{LARGE}", model.experts)
        for number in range(COUNT):
            part = routing[number * BATCH : (number + 1) * BATCH]
            for name, rows in zip(names(short, number), (*HEIGHTS, None), strict=True):
                yield mixture(name, model, part, rows=rows, columns=64, flops=4096)
