"""Datapaths of reciprocals and quotients."""

from __future__ import annotations

from hw.arithmetic.divide import Divide
from hw.arithmetic.divide import Reciprocal as ReciprocalUnit
from hw.functions.elementwise import on_leaves
from step.functions.reciprocal import Div, Reciprocal

on_leaves({Div: Divide, Reciprocal: ReciprocalUnit})
