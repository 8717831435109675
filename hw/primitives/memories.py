"""Memories of registers, LUT RAM and block RAM."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value
from amaranth.lib.memory import Memory

BLOCK_RAM = {"ram_style": "block", "no_rw_check": 1}
"""Attributes of a memory for block RAM; no word is read in the cycle in which it is written, so none has to bypass."""

REGISTERS = {"ram_style": "registers"}
"""Attributes of a memory made of registers, with a multiplexer behind them."""


class Shallow:
    """``depth`` words of ``width`` bits that are read without a clock.

    LUT RAM has 16 words however few are used: of two a multiplexer is smaller, and one is a register.
    """

    def __init__(self, m: Module, name: str, width: int, depth: int) -> None:
        self._m = m
        self._words: Signal | Memory
        if depth == 1:
            self._words = Signal(width, name=name, reset_less=True)
            return
        self._words = Memory(shape=width, depth=depth, init=[], attrs=REGISTERS if depth == 2 else {})
        m.submodules[name] = self._words

    def write(self, enable: Value, place: Value, word: Value) -> None:
        """Write ``word`` at ``place``, if ``enable``; once for all."""
        if isinstance(self._words, Signal):
            with self._m.If(enable):
                self._m.d.sync += self._words.eq(word)
            return
        port = self._words.write_port()
        self._m.d.comb += [port.en.eq(enable), port.addr.eq(place), port.data.eq(word)]

    def read(self, place: Value) -> Value:
        """The word at ``place``, in the same cycle."""
        if isinstance(self._words, Signal):
            return self._words
        port = self._words.read_port(domain="comb")
        self._m.d.comb += port.addr.eq(place)
        return port.data


class Deep(Shallow):
    """``depth`` words of ``width`` bits in block RAM, of which one is read a cycle behind its place.

    No word may be read in the cycle in which it is written.
    """

    def __init__(self, m: Module, name: str, width: int, depth: int) -> None:
        self._m = m
        self._words = Memory(shape=width, depth=depth, init=[], attrs=BLOCK_RAM)
        m.submodules[name] = self._words

    def read(self, place: Value) -> Value:
        """The word that was at ``place`` a cycle ago."""
        port = self._words.read_port()
        self._m.d.comb += [port.en.eq(1), port.addr.eq(place)]
        return port.data
