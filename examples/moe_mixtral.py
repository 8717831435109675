"""A SwiGLU mixture of experts, routed by a real Mixtral trace: 64 tokens, 8 experts, two experts a token.

The batch is routed row by row; every expert packs its rows into tiles (padded, or of dynamic size), reads its weights
once per tile, and returns rows, which are weighted, gathered in token order and summed (`step_models.moe`).
"""

from __future__ import annotations

import numpy as np

from step import FabricConfig, Program
from step.language.fused import Sum
from step_models import moe
from step_models.routing import measured_routing

EXPERTS = 8
TRACE = "mixtral_b64"


def build(
    trace: np.ndarray,
    *,
    hidden: int = 64,
    inner: int = 64,
    tile_rows: int = 4,
    step: int = 16,
    dynamic: bool = False,
    sum: Sum = "ordered",
) -> Program:
    """The program for ``trace`` [tokens, k], with dimensions that are multiples of ``step``."""
    return moe.program(
        trace,
        experts=EXPERTS,
        hidden=hidden,
        inner=inner,
        rows=None if dynamic else tile_rows,
        depth=step,
        columns=step,
        sum=sum,
        fabric=FabricConfig(),
        name="moe_mixtral_dynamic" if dynamic else "moe_mixtral",
    )


def program() -> Program:
    """Static tiles, of which the last one of an expert is padded."""
    return build(measured_routing(TRACE, EXPERTS))


def dynamic() -> Program:
    """One tile of dynamic size per expert: weights are read once."""
    return build(measured_routing(TRACE, EXPERTS), dynamic=True)


def fused() -> Program:
    """Static tiles, whose products add several terms at once."""
    return build(measured_routing(TRACE, EXPERTS), sum="fused")
