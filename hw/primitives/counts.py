"""Formulas of cycles (`step.lowering.plans.rows`) in hardware."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Array, Const, Mux, Value

from step.lowering.plans import rows


@rows.larger.register
def larger(one: Value, other: Any) -> Value:
    """The larger one of two numbers."""
    return Mux(one > other, one, other)


@rows.entry.register
def entry(rows: Value, table: Sequence[int]) -> Value:
    """The number of ``table`` at place ``rows``."""
    width = max(table).bit_length()
    return Value.cast(Array([Const(each, width) for each in table])[rows])
