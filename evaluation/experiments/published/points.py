"""The points of all figures.

All published numbers are those of the artifact, but for cycles of Fig. 9 that it has not, read off the paper's plot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from experiments.published import batches, layers, mixtures, swiglu
from experiments.published.point import PublishedPoint
from sim_published.profile import VALIDATION
from step.language.graph import Graph


def validation() -> Iterator[PublishedPoint]:
    """Fig. 8: SwiGLU, tiles of rows x columns."""
    known = {(16, 16): 33289, (16, 32): 29400, (16, 64): 27503, (16, 128): 26993, (16, 256): 27509, (64, 64): 9537}
    for rows in (16, 32, 64):
        for columns in (16, 32, 64, 128, 256):
            yield PublishedPoint(
                f"{rows}x{columns}",
                VALIDATION,
                partial(_without_data, rows, columns),
                known.get((rows, columns)),
                (4 * (64 * 256 * (512 // columns + 1) + 64 // rows * 3 * 256 * 512), None),
            )


def _without_data(rows: int, columns: int) -> tuple[Graph, dict[str, Any]]:
    return swiglu.graph(rows, columns), {}


FIGURES: dict[str, Callable[[], Iterator[PublishedPoint]]] = {
    "8": validation,
    "9": mixtures.tiling,
    "10": mixtures.large_batch,
    "12": mixtures.multiplexing,
    "14": batches.parallelization,
    "15": batches.growing,
    "17": layers.layers,
    "21": batches.other_batches,
    "beside": mixtures.beside,
    "equal_compute": mixtures.equal_compute,
    "true_attention": layers.true_attention,
}
"""What is run, by the name of the figure; the last are runs that no figure shows, and fair versions."""

SHOWN = {"13": "12", "19": "9", "20": "10"}
"""Figures that show the bytes of the points of another one."""
