"""Datapath of SiLU."""

from __future__ import annotations

from hw.arithmetic.silu import Silu as SiluUnit
from hw.functions.elementwise import LeafLane
from hw.functions.vector import on_lanes
from step.functions.silu import Silu


class SiluLane(LeafLane):
    """SiLU of a scalar in FP32, then rounded to ``out``."""

    arithmetic = SiluUnit


datapath = on_lanes({Silu: SiluLane})
