"""Figs. 12 and 13: experts that take turns on fewer regions than there are experts."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.fabric.points import FabricPoint, mixture
from experiments.layers import MODELS
from step_models.configurations import configuration
from step_models.routing import measured_routing


def multiplexing() -> Iterator[FabricPoint]:
    """Figs. 12 and 13: Qwen3 on fewer regions than experts, 1024 operations a cycle."""
    model = configuration(MODELS["qwen"])
    routing = measured_routing("qwen_b64", model.experts)
    for tiles, rows in (("static", 32), ("dynamic", None)):
        for regions in (128, 64, 32, 16, 8, 4):
            own = None if regions == model.experts else regions
            yield mixture(f"{tiles} {regions}", model, routing, rows=rows, columns=48, flops=1024, regions=own)
