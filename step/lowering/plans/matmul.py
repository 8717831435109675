"""Plan of the matrix product."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from step.functions.matmul import Matmul
from step.language.dtypes import BF16
from step.lowering.plans.blocks import arrange
from step.lowering.plans.fused import fused_cycles
from step.lowering.plans.matmul_plan import DEEP, MatmulPlan
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import rounding


def plan(function: Matmul, application: Application) -> MatmulPlan:
    """``[M,K] x [K,N]`` on at most `matmul_lanes` lanes, with additions in `stages` cycles; of INT8, in one.

    A fused sum of so many terms takes as many lanes; there is one of it at least.
    """
    fabric = application.fabric
    left, right, result = application.words(0), application.words(1).of_bits(function.bits), application.words(-1)
    stages = fabric.stages if left.dtype is BF16 else 1
    words = max(left.words, right.words, 1 if application.reduce else result.words)
    dynamic = application.dynamic
    shares = not application.reduce
    terms = function.terms or 1
    steps, lanes = -(-left.cols // terms), max(1, fabric.matmul_lanes // terms)
    shape = arrange(left.rows, steps, result.cols, lanes, stages, words, shares, dynamic)
    shape = replace(shape, spare=int(dynamic and application.reduce and shape.blocks > DEEP))
    product = min(stages, 2) if function.terms is None else fused_cycles(stages)
    others = result, function.transposed, product, rounding(application), application.reduce, terms
    found = grouped(MatmulPlan(shape, (left, right), *others))
    modelled = fabric.arithmetic == "model" and left.dtype is BF16 and not dynamic
    return replace(found, fewer=dynamic, modelled=modelled) if dynamic or modelled else found


@cache
def grouped(whole: MatmulPlan) -> MatmulPlan:
    """``whole``, which has one group, in groups of so many blocks that none waits but the last from which the result
    comes soonest.

    Of those that are as good the smallest ones are taken: they have the fewest sums.
    """
    shape = whole.arrangement
    least = -(-shape.least // shape.col_blocks)
    groups = (replace(shape, group=each) for each in range(min(least, shape.row_blocks), shape.row_blocks + 1))
    return min((replace(whole, arrangement=each) for each in groups), key=lambda each: each.latency)
