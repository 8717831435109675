"""Headers that wait for a time of their own."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Elaboratable, Module, Signal
from amaranth.lib.wiring import In, Out

from hw.links.channel import place
from hw.primitives.counts import larger
from hw.primitives.memories import Ram
from hw.primitives.timing import becomes
from hw.verilog.modules import Parametric


class Stamps(Parametric):
    """A header that comes with ``claim`` is ``entering``, with ``enters``, ``cycles`` later, and not before the
    ``words`` (>= 1) of the one before have passed.

    ``header_bits`` wide; so never more than ``most_cycles`` later, as who claims waits until his words are through. It
    waits beside the time at which it enters; ``depth`` of them wait at most.
    """

    def __init__(self, header_bits: int, depth: int, most_cycles: int, most_words: int) -> None:
        self._width, self._depth, self._most, self._most_words = header_bits, depth, most_cycles, most_words
        times = {"cycles": In(range(most_cycles + 1)), "words": In(range(most_words + 1))}
        claimed = {"claim": In(1), "header": In(header_bits), **times}
        super().__init__({**claimed, "enters": Out(1), "entering": Out(header_bits)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        now = Signal(self._most.bit_length())  # a stamp is met before its number comes again
        wait = Signal.like(now)
        ahead = Signal(range(self._most + self._most_words + 1))  # cycles until the next header may enter
        waiting = Signal(range(self._depth + 1))
        m.d.sync += [now.eq(now + 1), waiting.eq(waiting + self.claim - self.enters)]
        m.d.comb += wait.eq(larger(self.cycles, ahead))
        becomes(m, ahead, (self.claim, wait + self.words - 1), (ahead != 0, ahead - 1))
        queue = Ram(m, "headers", self._width + len(now), self._depth)
        queue.write(self.claim, place(m, "last", self._depth, self.claim), Cat(self.header, (now + wait)[: len(now)]))
        first = queue.read(place(m, "first", self._depth, self.enters))
        m.d.comb += [
            self.enters.eq((waiting != 0) & (first[self._width :] == now)),
            self.entering.eq(first[: self._width]),
        ]
        return m
