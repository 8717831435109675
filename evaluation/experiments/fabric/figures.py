"""The points of each figure, called as those of `experiments.published`, whose results stand beside ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from experiments.fabric.layers import layers
from experiments.fabric.multiplexing import multiplexing
from experiments.fabric.points import FabricPoint
from experiments.fabric.requests import other_batches, parallelization, prefixes
from experiments.fabric.tiling import large_batch, tiling
from experiments.fabric.validation import validation

FIGURES: dict[str, Callable[[], Iterator[FabricPoint]]] = {
    "8": validation,
    "9": tiling,
    "10": large_batch,
    "12": multiplexing,
    "14": parallelization,
    "15": prefixes,
    "17": layers,
    "21": other_batches,
}
"""What is run."""

SHOWN = {"13": "12", "19": "9", "20": "10"}
"""Figures that show something else of the points of another one."""
