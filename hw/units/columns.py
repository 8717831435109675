"""Columns of tiles of dynamic size: a tile is written into a memory as its rows come, and read by columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import Out

from hw.firing.machine import Firing
from hw.firing.pair import UnitPair
from hw.firing.unit import FiringRule, Unit, pass_status
from hw.functions.corner_turn import CornerTurn
from hw.links.layout import HeaderFormat, TokenFormat, cycles_of
from hw.primitives.timing import window
from hw.units.pieces import Pieces
from hw.verilog.modules import Shared
from step.lowering.links import INSIDE


@dataclass(frozen=True)
class Arrive(FiringRule):
    """Takes a tile, whose header goes on when its last word has come.

    Of the tile in the other ``part`` than the one before the ``word`` with the number ``step`` ``comes``.
    """

    token: TokenFormat

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
        part = Signal(init=1)
        unit = firing.unit
        firing.next(part, part ^ token.value)
        comes, number, _ = window(m, "word", firing.fires & token.value, self.token.cycles, cycles)
        m.d.comb += [*(unit.comes.eq(comes), unit.part.eq(part)), *(unit.step.eq(number), unit.word.eq(firing.word(0)))]


class Columns(UnitPair):
    """The machine that takes tiles, the one that sends ``pieces`` of them, and the memory between.

    It has room for as many tiles as wait in a channel: one comes while the one before leaves.
    """

    def __init__(self, pieces: Pieces) -> None:
        self.pieces = pieces
        super().__init__(Unit(Arrive(pieces.token), INSIDE), Unit(pieces), INSIDE)

    def connect(self, m: Module, first: Any, then: Any) -> None:
        item = math.gcd(self.pieces.slicer.width, self.pieces.token.link_bits)
        m.submodules.turn = turn = Shared(CornerTurn(self.pieces.moves(item), item, INSIDE))
        m.d.comb += [
            *(turn.write.eq(first.comes), turn.write_part.eq(first.part), turn.write_step.eq(first.step)),
            *(turn.values.eq(first.word), turn.read_part.eq(then.part), turn.read_step.eq(then.step)),
            then.found.eq(turn.result),
        ]
        pass_status(m, then, self)
