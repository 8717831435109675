"""Timing of the matrix product."""

from __future__ import annotations

from functools import cache

from sim_approx.timing import Timing
from step.language.dtypes import BF16
from step.language.function import Function
from step.language.types import Tile
from step.lowering.application import Application
from step.lowering.links import beats


def timing(function: Function, application: Application) -> Timing:
    """Cycles of ``[M,K] x [K,N]`` on at most L = `matmul_lanes` lanes, with additions in S = `stages` cycles.

    The result is cut into B blocks of at most L scalars, which take turns for every k. A sum is there again after S
    cycles, so a product takes K * max(B, S). Of the shortest ones, that with the smallest blocks is taken.
    Meanwhile the operands of the next one come in, and the last result leaves (that of a reduction only if it is due).
    The first product begins behind the last word; behind the last block's turn come its product, in one or two cycles,
    and its sum. Of INT8, a sum takes one cycle.
    """
    left, result = application.inputs[0], application.result
    assert isinstance(left, Tile) and isinstance(result, Tile)
    (rows, inner), cols = left.shape, int(result.cols)
    lanes, stages = application.fabric.matmul_lanes, application.fabric.stages if left.dtype is BF16 else 1
    turn, blocks = _arranged(rows, cols, lanes, stages)
    link = application.fabric.link_bytes
    loads, computes = max(beats(each, link) for each in application.inputs), inner * turn
    interval = max(loads, computes) if application.reduce else max(loads, computes, beats(result, link))
    latency = loads + computes + min(blocks, stages) + min(stages, 2) + int(result.dtype is BF16)
    return Timing(interval, latency, streams=True)


@cache
def _arranged(rows: int, cols: int, lanes: int, stages: int) -> tuple[int, int]:
    """Cycles for every k, and blocks. Kept, as large tiles have many arrangements and programs many products alike."""
    turn, _, blocks = min(
        (max(down * across, stages), -(-rows // down) * -(-cols // across), down * across)
        for down in range(1, rows + 1)
        for across in range(1, cols + 1)
        if -(-rows // down) * -(-cols // across) <= lanes
    )
    return turn, blocks
