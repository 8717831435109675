"""Columns of tiles of dynamic size: a tile is written into a memory as its rows come, and read by columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Elaboratable, Module, Signal
from amaranth.lib.wiring import In, Out

from hw.firing.machine import Firing
from hw.firing.unit import STATUS, FiringRule, Unit, join, pass_status
from hw.functions.corner_turn import CornerTurn
from hw.links.channel import ChannelFifo, ConsumerSignature, ProducerSignature
from hw.links.layout import DynamicFormat, HeaderFormat, cycles_of
from hw.primitives.timing import window
from hw.units.pieces import Pieces
from hw.verilog.modules import Parametric, Shared

HELD = 2
"""Tiles that the memory has room for: one comes while the one before leaves."""


@dataclass(frozen=True)
class Arrive(FiringRule):
    """Takes a tile, whose header goes on when its last word has come.

    Of the tile in the other ``part`` than the one before the ``word`` with the number ``step`` ``comes``.
    """

    token: DynamicFormat

    latency = property(lambda self: self.token.cycles)
    inputs = property(lambda self: (self.token,))
    outputs = property(lambda self: (HeaderFormat(self.token),))

    @property
    def ports(self) -> Mapping[str, Any]:
        step = Out(max(1, (self.token.words - 1).bit_length()))
        return {"comes": Out(1), "part": Out(1), "step": step, "word": Out(self.token.word_bits)}

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.need(0)
        cycles = Signal(range(self.token.cycles + 1))
        with m.If(token.value):
            m.d.comb += cycles.eq(cycles_of(self.token, token))
        with m.Else():
            m.d.comb += cycles.eq(1)
        firing.put(0, token)
        firing.take(0)
        firing.occupy(when=token.value, cycles=cycles)
        firing.stamp(0, cycles, 1)
        firing.finish(token.done)
        part, unit = Signal(init=1), firing.unit
        firing.next(part, part ^ token.value)
        comes, number, _ = window(m, "word", firing.fires & token.value, self.token.cycles, cycles)
        m.d.comb += [*(unit.comes.eq(comes), unit.part.eq(part)), *(unit.step.eq(number), unit.word.eq(firing.word(0)))]


class Columns(Parametric):
    """The machine that takes tiles, the one that sends ``pieces`` of them, and the memory between."""

    def __init__(self, pieces: Pieces) -> None:
        token = pieces.token
        assert isinstance(token, DynamicFormat)
        self.pieces, self.arrive = Unit(pieces), Unit(Arrive(token), HELD)
        super().__init__(
            {"input0": In(ConsumerSignature(token)), "output0": Out(ProducerSignature(pieces.piece)), **STATUS}
        )
        self.parameters = {"arrive": self.arrive, "pieces": self.pieces}
        self.longest_pause = self.arrive.longest_pause + self.pieces.longest_pause

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.submodules.arrive = arrive = Shared(self.arrive)
        m.submodules.pieces = pieces = Shared(self.pieces)
        rule = self.pieces.rule
        assert isinstance(rule, Pieces)
        m.submodules.between = between = Shared(ChannelFifo(rule.inputs[0], HELD))
        item = math.gcd(rule.slicer.width, rule.token.link_bits)
        m.submodules.turn = turn = Shared(CornerTurn(rule.moves(item), item, HELD))
        join(m, self.input0, arrive.input0)
        join(m, arrive.output0, between.i)
        join(m, between.o, pieces.input0)
        join(m, pieces.output0, self.output0)
        m.d.comb += [
            *(turn.write.eq(arrive.comes), turn.write_part.eq(arrive.part), turn.write_step.eq(arrive.step)),
            *(turn.values.eq(arrive.word), turn.read_part.eq(pieces.part), turn.read_step.eq(pieces.step)),
            pieces.found.eq(turn.result),
        ]
        pass_status(m, pieces, self)
        return m
