"""Reader: memory from its base on, as words."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.axi.queue import Queue
from hw.links.channel import count
from hw.links.layout import AddressFormat
from hw.memory.port import MEMORY_RESET, MemoryPort, outside
from hw.verilog.modules import Parametric, Shared
from step.lowering.dma import REQUEST

DEPTH = 4 * REQUEST
"""Beats that are asked for before they are used."""


class Reader(Parametric):
    """Words of ``word_bytes`` out of beats of ``beat_bytes``, which are asked for ahead; both are powers of two.

    ``limit``: requests in all, which may grow. ``word`` is there while ``valid``, until ``pop``; with ``skip`` the
    next one is the first of the next beat. ``ended``: all that was asked for is popped, and there is no more.

    A reset begins again from the base on, as soon as memory has answered what was asked before (`MemoryPort`).
    """

    def __init__(self, beat_bytes: int, word_bytes: int) -> None:
        self._beat, self._word = beat_bytes, word_bytes
        response = wiring.Signature({"payload": Out(8 * beat_bytes), "valid": Out(1)})
        super().__init__(
            {
                "limit": In(32),
                "word": Out(8 * word_bytes),
                "valid": Out(1),
                "pop": In(1),
                "skip": In(1),
                "ended": Out(1),
                "request": Out(stream.Signature(32)),
                "response": In(response),
                MEMORY_RESET: In(1),
            }
        )

    @property
    def parameters(self) -> dict[str, Any]:
        return {"beat_bytes": self._beat, "word_bytes": self._word}

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.submodules.requests = requests = Shared(MemoryPort(AddressFormat(), 2, REQUEST, DEPTH))
        outside(m, requests, self, self.request)
        beats = Queue(m, "beats", 8 * self._beat, DEPTH)
        asks, asked = Signal(), Signal(32)
        reserved = count(m, "reserved", DEPTH, up=asks, down=beats.pop, by=REQUEST)
        m.d.comb += [
            asks.eq(requests.i.space & (asked < self.limit) & (reserved <= DEPTH - REQUEST)),
            requests.i.claim.eq(asks),
            requests.i.valid.eq(asks),
            requests.i.header.address.eq(asked * REQUEST),
            requests.answer.eq(self.response.valid),
            beats.push.eq(requests.answered),
            beats.word.eq(self.response.payload),
            self.ended.eq((asked >= self.limit) & (reserved == 0)),
        ]
        with m.If(asks):
            m.d.sync += asked.eq(asked + 1)
        self._cut(m, beats)
        return m

    def _cut(self, m: Module, beats: Queue) -> None:
        """Words that are a part of a beat, or several."""
        parts, together = self._beat // self._word, self._word // self._beat
        if together > 1:
            part, before = Signal(range(together)), Signal(8 * (self._word - self._beat))
            whole = part == together - 1
            word: Value = Cat(before, beats.front)
            m.d.comb += [self.valid.eq(beats.valid & whole), beats.pop.eq(Mux(whole, self.pop, beats.valid))]
            with m.If(beats.pop):
                m.d.sync += [part.eq(part + 1), before.eq(word[8 * self._beat :])]
        else:
            place = Signal(range(parts))
            word = beats.front.word_select(place, 8 * self._word)
            m.d.comb += [self.valid.eq(beats.valid), beats.pop.eq(self.pop & (self.skip | (place == parts - 1)))]
            with m.If(self.pop):
                m.d.sync += place.eq(Mux(self.skip, 0, place + 1))
        m.d.comb += self.word.eq(word)
