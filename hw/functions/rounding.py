"""Datapath of numbers without their fraction."""

from __future__ import annotations

from hw.arithmetic.rounding import Round as RoundUnit
from hw.functions.elementwise import on_leaves
from step.functions.rounding import Round

on_leaves({Round: RoundUnit})
