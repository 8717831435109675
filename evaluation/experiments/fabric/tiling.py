"""Figs. 9, 10, 19 and 20: static and dynamic tiles."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.fabric.points import FabricPoint, mixture
from experiments.layers import MODELS
from step_models.configurations import configuration
from step_models.routing import measured_routing


def _tilings(models: tuple[str, ...], batch: int, heights: tuple[int, ...]) -> Iterator[FabricPoint]:
    """Static tiles of all heights, then dynamic ones, with the same compute: 4096 operations a cycle."""
    for short in models:
        model = configuration(MODELS[short])
        routing = measured_routing(f"{short}_b{batch}", model.experts)
        for rows in (*heights, None):
            yield mixture(f"{short} {rows or 'dynamic'}", model, routing, rows=rows, columns=64, flops=4096)


def tiling() -> Iterator[FabricPoint]:
    """Fig. 9 (and 19): static and dynamic tiles, batch 64."""
    return _tilings(("mixtral", "qwen"), 64, (8, 16, 32, 64))


def large_batch() -> Iterator[FabricPoint]:
    """Fig. 10 (and 20): the same with batch 1024."""
    return _tilings(("mixtral", "qwen"), 1024, (16, 32, 64, 128, 256, 512, 1024))
