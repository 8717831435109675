"""Formulas of cycles (`step.lowering.plans.rows`) in hardware."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Mux, Value

from step.lowering.plans import rows


@rows.larger.register
def larger(one: Value, other: Any) -> Value:
    """The larger one of two numbers."""
    return Mux(one > other, one, other)
