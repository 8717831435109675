"""Datapath of GELU."""

from __future__ import annotations

from hw.arithmetic.gelu import Gelu as GeluUnit
from hw.functions.elementwise import on_leaves
from step.functions.gelu import Gelu

on_leaves({Gelu: GeluUnit})
