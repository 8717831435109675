"""Datapath of the natural logarithm."""

from __future__ import annotations

from hw.arithmetic.log import Log as LogUnit
from hw.functions.elementwise import on_leaves
from step.functions.log import Log

on_leaves({Log: LogUnit})
