"""Stores between parts of one width and parts of another: a memory in which what came waits until it is wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value

from hw.primitives.memories import Ram
from hw.primitives.timing import counter
from step.lowering.plans.parts import Parts
from step.lowering.plans.parts import Store as Part

ONLY = C(0, 1)
"""The copy where there is one."""


class Store:
    """``copies`` elements that are written and read in parts; so many of the narrower ones as fit make a wider one."""

    def __init__(self, m: Module, name: str, part: Part) -> None:
        self._part, banks = part, part.banks
        self._banks = [
            Ram(m, f"{name}_{at}" if banks > 1 else name, part.written.bits, part.places) for at in range(banks)
        ]

    def _find(self, number: Value, parts: Parts, copy: Value) -> tuple[Value, Value]:
        """The address of the row in which part ``number`` of an element is, and its place there."""
        part, shift = self._part, self._part.ratio.bit_length() - 1
        row, place = number if parts is part.wide else number[shift:], number[:shift]
        if part.wide.count == 1:
            row, place = C(0, 1), number
        return row if part.copies == 1 else row + copy * part.wide.count, place

    def write(self, enable: Value, number: Value, part: Value, copy: Value = ONLY) -> None:
        """Write ``part`` at its ``number``, if ``enable``.

        The last part of an element whose last row is not full writes zeros into the end of that row: a row is read as a
        whole, and nothing in it may be unknown (X). In other rows the parts that follow write there once more.
        """
        address, place = self._find(number, self._part.written, copy)
        full = self._part.written.count % len(self._banks)
        for at, bank in enumerate(self._banks):
            if len(self._banks) == 1:
                bank.write(enable, address, part)
            elif full and at >= full:
                own = place == at
                bank.write(enable & (own | (place == full - 1)), address, Mux(own, part, 0))
            else:
                bank.write(enable & (place == at), address, part)

    def read(self, number: Value, copy: Value = ONLY) -> Value:
        """The part ``number``, in the same cycle."""
        read, ratio = self._part.read, self._part.ratio
        address, place = self._find(number, read, copy)
        row = Cat(bank.read(address) for bank in self._banks)
        if read is self._part.wide or ratio == 1:
            return row[: read.bits]
        padded = Cat(row, C(0, max(0, ratio * read.bits - len(row))))
        return Array(padded.word_select(at, read.bits) for at in range(ratio))[place]


class Picked(Store):
    """A `Store` of registers: ``parts`` makes the parts of an element that are read, of all its bits."""

    def __init__(self, m: Module, name: str, part: Part, parts: Callable[[Value], Sequence[Value]]) -> None:
        self._m, self._parts = m, parts
        self._words = [
            [Signal(part.written.bits, name=f"{name}_{copy}_{at}", reset_less=True) for at in range(part.written.count)]
            for copy in range(part.copies)
        ]

    def write(self, enable: Value, number: Value, part: Value, copy: Value = ONLY) -> None:
        for at, words in enumerate(self._words):
            for place, register in enumerate(words):
                with self._m.If(enable & (number == place) & (copy == at)):
                    self._m.d.sync += register.eq(part)

    def read(self, number: Value, copy: Value = ONLY) -> Value:
        found = []
        for words in self._words:
            element = Signal(sum(map(len, words)))
            self._m.d.comb += element.eq(Cat(words))
            found.append(_one_of(self._parts(element), number))
        return _one_of(found, copy)


def _one_of(values: Sequence[Value], number: Value) -> Value:
    return values[0] if len(values) == 1 else Array(values)[number]


class Groups(NamedTuple):
    """The groups of an element, one a cycle behind ``begins``: if one is there, its ``number``, if it is the last."""

    begins: Value
    valid: Value
    number: Value
    last: Value


def regrouped(
    m: Module,
    name: str,
    part: Part,
    parts: Callable[[Value], Sequence[Value]],
    word: tuple[Value, Value, Value],
    group: Groups,
    toggles: Value | None = None,
) -> Value:
    """The ``group`` that is read out of the ``part`` of a datapath.

    Into it goes ``word``: whether it comes, its number, and itself. ``parts`` makes what is picked out of an element.
    Elements begin with ``toggles``, if these have fewer words than there may be.
    """
    comes, number, bits = word
    store = Picked(m, name, part, parts) if part.picked else Store(m, name, part)
    if toggles is not None and part.copies == 2:
        filled = Signal(name=f"{name}_filled", init=1)
        into: Value = filled ^ toggles
        m.d.sync += filled.eq(into)
    else:
        into, _ = counter(m, part.copies, f"{name}_written", comes & (number == part.written.count - 1))
    out, _ = counter(m, part.copies, f"{name}_read", group.valid & group.last)
    store.write(comes, number, bits, into)
    return store.read(group.number, out)
