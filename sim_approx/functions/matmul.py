"""Timing of the matrix product."""

from __future__ import annotations

from sim_approx.timing import Timing
from step.language.function import Function
from step.language.types import Tile
from step.lowering.application import Application


def timing(function: Function, application: Application) -> Timing:
    """Cycles of ``[M,K] x [K,N]`` on L = `matmul_lanes` lanes; M*K*N / L where L fits the shape.

    Fewer lanes than columns: a part of a row at a time, K * M * ceil(N / L).
    Fewer lanes than scalars in the result: some whole rows at a time, K * ceil(M / floor(L / N)).
    More: several k at a time, ceil(K / floor(L / (M*N))).
    The operands are registered first, and the result last: one more cycle of latency.
    """
    left, result = application.inputs[0], application.result
    assert isinstance(left, Tile) and isinstance(result, Tile)
    (rows, inner), cols, lanes = left.shape, int(result.cols), application.fabric.matmul_lanes
    if lanes < cols:
        interval = inner * rows * -(-cols // lanes)
    elif lanes < rows * cols:
        interval = inner * -(-rows // (lanes // cols))
    else:
        interval = -(-inner // (lanes // (rows * cols)))
    return Timing(interval, interval + 1)
