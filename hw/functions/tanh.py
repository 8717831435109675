"""Datapath of the hyperbolic tangent."""

from __future__ import annotations

from hw.arithmetic.tanh import Tanh as TanhUnit
from hw.functions.elementwise import LeafLane
from hw.functions.vector import on_lanes
from step.functions.tanh import Tanh


class TanhLane(LeafLane):
    """The hyperbolic tangent of a scalar in FP32, then rounded to ``out``."""

    arithmetic = TanhUnit


datapath = on_lanes({Tanh: TanhLane})
