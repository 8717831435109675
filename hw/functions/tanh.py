"""Datapaths of the hyperbolic tangent and of the error function."""

from __future__ import annotations

from hw.arithmetic.tanh import Erf as ErfUnit
from hw.arithmetic.tanh import Tanh as TanhUnit
from hw.functions.elementwise import on_leaves
from step.functions.tanh import Erf, Tanh

on_leaves({Erf: ErfUnit, Tanh: TanhUnit})
