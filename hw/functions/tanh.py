"""Datapath of the hyperbolic tangent."""

from __future__ import annotations

from hw.arithmetic.tanh import Tanh as TanhUnit
from hw.functions.elementwise import on_leaves
from step.functions.tanh import Tanh

datapath = on_leaves({Tanh: TanhUnit})
