"""Small points of every kind, for a run that takes seconds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from experiments.fabric.points import FabricPoint, attentions, mixture
from experiments.layers import MODELS
from step_models.configurations import configuration
from step_models.routing import measured_routing


def smoke() -> Iterator[FabricPoint]:
    """One small workload of every kind."""
    model = replace(configuration(MODELS["mixtral"]), hidden=32, inner=32, experts=4)
    routing = measured_routing("mixtral_b64", 8)[:6] % 4
    routing = routing[routing[:, 0] != routing[:, 1]]
    yield mixture("static", model, routing, rows=2, columns=16, flops=64)
    yield mixture("multiplexed", model, routing, rows=2, columns=16, flops=64, regions=2)
    yield from attentions("attention", np.array([60, 3, 9]), 64, size=16)
