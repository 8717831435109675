"""Datapaths of reciprocals and quotients."""

from __future__ import annotations

from hw.arithmetic.divide import Divide
from hw.arithmetic.divide import Reciprocal as ReciprocalUnit
from hw.functions.elementwise import LeafLane
from hw.functions.vector import on_lanes
from step.functions.reciprocal import Div, Reciprocal


class ReciprocalLane(LeafLane):
    """The reciprocal of a scalar in FP32, then rounded to ``out``."""

    arithmetic = ReciprocalUnit


class DivLane(LeafLane):
    """The quotient of two scalars in FP32, then rounded to ``out``."""

    arithmetic = Divide


datapath = on_lanes({Div: DivLane, Reciprocal: ReciprocalLane})
