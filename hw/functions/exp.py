"""Datapath of the exponential."""

from __future__ import annotations

from hw.arithmetic.exp import Exp as ExpUnit
from hw.functions.elementwise import LeafLane
from hw.functions.vector import on_lanes
from step.functions.exp import Exp


class ExpLane(LeafLane):
    """The exponential of a scalar in FP32, then rounded to ``out``."""

    arithmetic = ExpUnit


datapath = on_lanes({Exp: ExpLane})
