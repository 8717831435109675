"""Stores between parts of one width and parts of another: a memory in which what came waits until it is wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value

from hw.primitives.memories import Shallow


@dataclass(frozen=True)
class Parts:
    """An element as ``count`` parts of ``bits`` bits."""

    count: int
    bits: int


class Store:
    """``copies`` elements that are written and read in parts; so many of the narrower ones as fit make a wider one."""

    def __init__(self, m: Module, name: str, written: Parts, read: Parts, copies: int) -> None:
        self._written, self._read = written, read
        self._narrow, self._wide = sorted((written, read), key=lambda each: each.bits)
        self._rows = self._wide.count
        self._ratio = self._narrow.count if self._rows == 1 else self._wide.bits // self._narrow.bits
        self._places = copies * self._rows
        banks = self._ratio if written is self._narrow else 1
        self._banks = [
            Shallow(m, f"{name}_{at}" if banks > 1 else name, written.bits, self._places) for at in range(banks)
        ]

    def _row(self, number: Value, parts: Parts) -> Value:
        """The row of the element in which part ``number`` is."""
        if self._rows == 1:
            return C(0, 1)
        return number if parts is self._wide else number[self._shift :]

    def _place(self, number: Value, parts: Parts) -> Value:
        """The place of part ``number`` in its row."""
        return number if self._rows == 1 else number[: self._shift]

    @property
    def _shift(self) -> int:
        return self._ratio.bit_length() - 1

    def _address(self, row: Value, copy: Value) -> Value:
        return row if self._places == self._rows else row + copy * self._rows

    def write(self, enable: Value, number: Value, copy: Value, part: Value) -> None:
        """Write ``part`` at its ``number``, if ``enable``.

        The last part of an element whose last row is not full writes zeros into the end of that row: a row is read as a
        whole, and nothing in it may be unknown (X). In other rows the parts that follow write there once more.
        """
        address, place = self._address(self._row(number, self._written), copy), self._place(number, self._written)
        full = self._written.count % len(self._banks)
        for at, bank in enumerate(self._banks):
            if len(self._banks) == 1:
                bank.write(enable, address, part)
            elif full and at >= full:
                own = place == at
                bank.write(enable & (own | (place == full - 1)), address, Mux(own, part, 0))
            else:
                bank.write(enable & (place == at), address, part)

    def read(self, number: Value, copy: Value) -> Value:
        """The part ``number``, in the same cycle."""
        address = self._address(self._row(number, self._read), copy)
        row = Cat(bank.read(address) for bank in self._banks)
        if self._read is self._wide or self._ratio == 1:
            return row[: self._read.bits]
        padded = Cat(row, C(0, max(0, self._ratio * self._read.bits - len(row))))
        parts = [padded.word_select(at, self._read.bits) for at in range(self._ratio)]
        return Array(parts)[self._place(number, self._read)]


class WordRegisters:
    """``copies`` elements of ``count`` words in registers, of which parts can be made of any bits."""

    def __init__(self, m: Module, name: str, count: int, bits: int, copies: int) -> None:
        self._m = m
        self._words = [
            [Signal(bits, name=f"{name}_{copy}_{number}", reset_less=True) for number in range(count)]
            for copy in range(copies)
        ]

    def write(self, enable: Value, number: Value, copy: Value, word: Value) -> None:
        """Write ``word`` at its ``number``, if ``enable``."""
        for at, words in enumerate(self._words):
            for place, register in enumerate(words):
                with self._m.If(enable & (number == place) & (copy == at)):
                    self._m.d.sync += register.eq(word)

    def read(self, copy: Value, parts: Callable[[Value], Sequence[Value]], number: Value) -> Value:
        """The one with ``number`` of the ``parts`` that an element has."""
        found = []
        for words in self._words:
            element = Signal(sum(map(len, words)))
            self._m.d.comb += element.eq(Cat(words))
            found.append(Array(parts(element))[number])
        return found[0] if len(found) == 1 else Array(found)[copy]
