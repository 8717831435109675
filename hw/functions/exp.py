"""Datapath of the exponential."""

from __future__ import annotations

from hw.arithmetic.exp import Exp as ExpUnit
from hw.functions.elementwise import on_leaves
from step.functions.exp import Exp

on_leaves({Exp: ExpUnit})
