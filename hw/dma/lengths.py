"""The list of a source, as the walk of its dimensions reads it."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib.data import StructLayout

LENGTH = StructLayout({"entries": 32, "none": 1, "one": 1})
"""Number of entries of a list, and whether these are none or one."""


def length(entries: Value) -> Value:
    """``entries`` as a `LENGTH`."""
    return Cat(entries, entries == 0, entries == 1)


class Lengths:
    """Words that ``reader`` reads, two registers ahead: choosing a word, and comparing it, take a cycle of their own.

    ``front`` is there while ``valid``, until ``pop``, which is only raised then. ``ended``: there is no more.
    """

    def __init__(self, m: Module, reader: Any) -> None:
        self.front, self.valid = Signal(LENGTH, name="length"), Signal(name="length_valid")
        self.pop, self.ended, self.limit = Signal(name="length_pop"), Signal(name="length_ended"), reader.limit
        word = Signal(32)
        chosen = Signal()
        leaves = Signal()
        takes = Signal()
        m.d.comb += [
            leaves.eq(~self.valid | self.pop),
            takes.eq(~chosen | leaves),
            reader.pop.eq(reader.valid & takes),
            self.ended.eq(reader.ended & ~chosen & ~self.valid),
        ]
        with m.If(takes):
            m.d.sync += [chosen.eq(reader.valid), word.eq(reader.word)]
        with m.If(leaves):
            m.d.sync += [self.valid.eq(chosen), self.front.as_value().eq(length(word))]
