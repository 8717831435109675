"""Datapaths of the logistic function and of SiLU."""

from __future__ import annotations

from hw.arithmetic.silu import Sigmoid as SigmoidUnit
from hw.arithmetic.silu import Silu as SiluUnit
from hw.functions.elementwise import on_leaves
from step.functions.silu import Sigmoid, Silu

on_leaves({Sigmoid: SigmoidUnit, Silu: SiluUnit})
