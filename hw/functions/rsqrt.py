"""Datapath of the reciprocal square root."""

from __future__ import annotations

from hw.arithmetic.rsqrt import Rsqrt as RsqrtUnit
from hw.functions.elementwise import LeafLane
from hw.functions.vector import on_lanes
from step.functions.rsqrt import Rsqrt


class RsqrtLane(LeafLane):
    """The reciprocal square root of a scalar in FP32, then rounded to ``out``."""

    arithmetic = RsqrtUnit


datapath = on_lanes({Rsqrt: RsqrtLane})
