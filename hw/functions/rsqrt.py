"""Datapath of the reciprocal square root."""

from __future__ import annotations

from hw.arithmetic.rsqrt import Rsqrt as RsqrtUnit
from hw.functions.elementwise import on_leaves
from step.functions.rsqrt import Rsqrt

datapath = on_leaves({Rsqrt: RsqrtUnit})
