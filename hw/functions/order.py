"""Scalars as unsigned numbers of the same order."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Value

from hw.arithmetic.convert import converted
from step.language.dtypes import DType


def ordered(m: Module, name: str, scalar: Value, dtype: DType) -> Value:
    """A signed scalar as an unsigned number: of floating point numbers flushed, +0 above -0, and NaN above all."""
    if not dtype.is_float:
        return Cat(scalar[:-1], ~scalar[-1])
    flushed = converted(m, name, scalar, dtype, dtype)
    sign = flushed[-1]
    return Cat(flushed[:-1] ^ sign.replicate(dtype.bits - 1), ~sign)


def scalar_of(order: Value, dtype: DType) -> Value:
    """The opposite of `ordered`."""
    sign = ~order[-1]
    return Cat(order[:-1] ^ sign.replicate(dtype.bits - 1) if dtype.is_float else order[:-1], sign)
