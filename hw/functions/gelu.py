"""Datapath of GELU."""

from __future__ import annotations

from hw.arithmetic.gelu import Gelu as GeluUnit
from hw.functions.elementwise import LeafLane
from hw.functions.vector import on_lanes
from step.functions.gelu import Gelu


class GeluLane(LeafLane):
    """GELU of a scalar in FP32, then rounded to ``out``."""

    @property
    def leaf(self) -> GeluUnit:
        assert isinstance(self.function, Gelu)
        return GeluUnit(self.stages, self.function.approximate)


datapath = on_lanes({Gelu: GeluLane})
