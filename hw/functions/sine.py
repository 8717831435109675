"""Datapaths of sines and cosines."""

from __future__ import annotations

from hw.arithmetic.sine import Cos as CosUnit
from hw.arithmetic.sine import Sin as SinUnit
from hw.functions.elementwise import on_leaves
from step.functions.sine import Cos, Sin

on_leaves({Cos: CosUnit, Sin: SinUnit})
