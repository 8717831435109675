"""Fig. 8: the graph of the published validation, on a fabric matched to that of the published timing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from experiments.fabric.points import Point
from experiments.published import swiglu
from step import MemoryConfig, Program
from step_models.fabrics import PUBLISHED, fitting
from step_models.weights import blank_tensors

MATCHED = replace(
    PUBLISHED,
    stages=1,
    link_bytes=128,
    memory=MemoryConfig(beat_bytes=128, channels=2, interval=2, latency=16),
)
"""64 scalars a cycle on a link, from memory to a load, and of all memory, as the validation has: there scalars have
four bytes, here two."""


def program(rows: int, columns: int) -> Program:
    """SwiGLU in tiles of ``rows`` rows, and weights in tiles of ``columns`` columns."""
    graph = swiglu.graph(rows, columns)
    return Program(graph, blank_tensors(graph), fitting(graph, MATCHED))


def validation() -> Iterator[Point]:
    """All 15 tile sizes."""
    for rows in (16, 32, 64):
        for columns in (16, 32, 64, 128, 256):
            yield Point(f"{rows}x{columns}", partial(program, rows, columns))
