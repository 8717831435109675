"""Lets Amaranth convert modules with more than 65 536 bits of inputs.

Amaranth 0.5 numbers a net as (cell, bit) with 16 bits for the bit, and all inputs of a module are one cell. Gathering
the tiles of many experts takes more. Only the packing of the number changes; what is emitted is the same.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import _nir

BIT_BITS = 28


def _from_cell(cls: type[_nir.Net], cell: int, bit: int) -> Any:
    assert bit in range(1 << BIT_BITS) and cell >= 0 and (cell > 0 or bit >= 2)
    return cls((cell << BIT_BITS) | bit)


def allow_wide_modules() -> None:
    """Give the numbers of nets more bits; for all of this process, harmless to do twice."""
    _nir.Net.from_cell = classmethod(_from_cell)
    _nir.Net.cell = property(lambda net: net >> BIT_BITS)
    _nir.Net.bit = property(lambda net: net & ((1 << BIT_BITS) - 1))
