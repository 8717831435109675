"""The mixture of experts of moe_mixtral.py, on fewer sets of matmuls than experts: these take turns.

The experts are dealt to regions. A region takes the tiles of one of its experts after those of another, in the order in
which they come; which one it is decides where its weights lie, and to whom the results go back
(`step_models.multiplexed`).
"""

from __future__ import annotations

import numpy as np
from moe_mixtral import EXPERTS, TRACE

from step import FabricConfig, Program
from step_models import moe
from step_models.routing import measured_routing


def build(
    trace: np.ndarray, regions: int, *, hidden: int = 64, inner: int = 64, tile_rows: int = 4, step: int = 16
) -> Program:
    """The program for ``trace`` [tokens, k], with dimensions that are multiples of ``step``, on so many regions."""
    return moe.program(
        trace,
        experts=EXPERTS,
        hidden=hidden,
        inner=inner,
        rows=tile_rows,
        depth=step,
        columns=step,
        regions=regions,
        fabric=FabricConfig(),
        name=f"moe_multiplexed_regions{regions}",
    )


def regions4() -> Program:
    """Two experts a region."""
    return build(measured_routing(TRACE, EXPERTS), 4)


def regions2() -> Program:
    """Four experts a region."""
    return build(measured_routing(TRACE, EXPERTS), 2)


def program() -> Program:
    """Four regions."""
    return regions4()
