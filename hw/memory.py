"""What memories are made of."""

from __future__ import annotations

from amaranth.lib.memory import Memory

BLOCK_RAM = {"ram_style": "block", "no_rw_check": 1}
"""Attributes of a memory for block RAM; no word is read in the cycle in which it is written, so none has to bypass."""

REGISTERS = {"ram_style": "registers"}
"""Attributes of a memory made of registers, with a multiplexer behind them."""


def shallow_memory(width: int, depth: int) -> Memory:
    """A memory of a few words, to be read without a clock.

    LUT RAM has 16 words however few are used: of two a multiplexer is smaller.
    """
    return Memory(shape=width, depth=depth, init=[], attrs=REGISTERS if depth <= 2 else {})
