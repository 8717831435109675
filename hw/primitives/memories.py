"""Memories of registers, LUT RAM and block RAM."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value
from amaranth.lib.memory import Memory

BLOCK_RAM = {"ram_style": "block", "no_rw_check": 1}
"""Attributes of a memory for block RAM; no word is read in the cycle in which it is written, so none has to bypass."""

REGISTERS = {"ram_style": "registers"}
"""Attributes of a memory made of registers, with a multiplexer behind them."""


class Ram:
    """``depth`` words of ``width`` bits that are read without a clock, or where it is ``deep``, in block RAM.

    LUT RAM has 16 words however few are used: of two a multiplexer is smaller, and one is a register. Of block RAM a
    word is read a cycle behind its place, and none in the cycle in which it is written.
    """

    def __init__(self, m: Module, name: str, width: int, depth: int, *, deep: bool = False) -> None:
        self._m, self._deep = m, deep
        self._words: Signal | Memory
        if depth == 1 and not deep:
            self._words = Signal(width, name=name, reset_less=True)
            return
        attrs = BLOCK_RAM if deep else REGISTERS if depth == 2 else {}
        self._words = Memory(shape=width, depth=depth, init=[], attrs=attrs)
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
        """The word at ``place``, in the same cycle, or a cycle later."""
        if isinstance(self._words, Signal):
            return self._words
        port = self._words.read_port(domain="sync" if self._deep else "comb")
        self._m.d.comb += [*([port.en.eq(1)] if self._deep else []), port.addr.eq(place)]
        return port.data
