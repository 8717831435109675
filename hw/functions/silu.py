"""Datapath of SiLU."""

from __future__ import annotations

from hw.arithmetic.silu import Silu as SiluUnit
from hw.functions.elementwise import on_leaves
from step.functions.silu import Silu

datapath = on_leaves({Silu: SiluUnit})
