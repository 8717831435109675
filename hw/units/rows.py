"""The rows of tiles whose number only a run tells, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import Cat, Elaboratable, Module, Signal, Value
from amaranth.lib.wiring import In, Out

from hw.firing.machine import Firing
from hw.firing.unit import STATUS, Unit, join, pass_status
from hw.links.channel import ChannelFifo, ConsumerSignature, ProducerSignature
from hw.links.layout import TokenFormat
from hw.rules.unit import Translated
from hw.units.pieces import Pieces, send_pieces
from hw.verilog.modules import Parametric, Shared
from step.firing.declared import Declared
from step.rules.flatten import HoldingFlatten

HELD = 2
"""Slots between what cuts rows and what holds one back, besides those for what is in flight."""


@dataclass(frozen=True)
class Rows(Pieces):
    """A row per firing. ``nested``: those of a tile are a row of the stream, without any an empty one.

    Else the stream has rank 0, in which a tile without rows is nothing.
    """

    nested: bool

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.need(0)
        index = Signal(range(self.slicer.pieces))
        some, last = Signal(), Signal()
        m.d.comb += [some.eq(token.value & (token.rows != 0)), last.eq(~some | (index == token.rows - 1))]
        firing.occupy(when=some)
        if self.piece.items and self.slicer.plan.collects_control:
            firing.complete(0, control=self.read(m, firing, index))
        elif self.piece.word_bits:
            self.cut(m, firing, index, some)
        when = 1 if self.nested else some | token.done
        send_pieces(m, firing, index, some, last, raised=int(self.nested), when=when)

    def read(self, m: Module, firing: Firing, index: Signal) -> Value:
        """Row ``index``, which is control, `latency` cycles later: a part of a word, or several words."""
        word, words = firing.word(0), self.latency
        if self.slicer.plan.kind == "whole":
            if self.token.words > 1:
                firing.read_from(0, index * words)
            before = Signal((words - 1) * len(word), reset_less=True)
            row = Cat(before, word)
            m.d.sync += before.eq(row[len(word) :])
            return row
        return self.within(m, firing, index, firing.delayed)


class HeldRows(Parametric):
    """`Rows` of all tiles of a row of the stream are one row: as the last tile may have none, the last row waits."""

    def __init__(self, rows: Rows) -> None:
        between = replace(rows.piece, rank=rows.piece.rank + 1)
        self.rows = Unit(replace(rows, piece=between, nested=True))
        stops = (0, 0, *range(1, rows.piece.rank + 1))
        flatten = Declared(HoldingFlatten, {"low": 0, "high": 1, "stops": stops})
        self.flatten = Unit(Translated.of(flatten, (between,), (rows.piece,)))
        super().__init__(
            {"input0": In(ConsumerSignature(rows.token)), "output0": Out(ProducerSignature(rows.piece)), **STATUS}
        )
        self.parameters = {"rows": self.rows, "then": self.flatten}
        self.longest_pause = self.rows.longest_pause + self.flatten.longest_pause

    def spare(self, port: int) -> int:
        """Spare slots, see `Unit.spare`."""
        return self.rows.spare(port)

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.submodules.rows = rows = Shared(self.rows)
        m.submodules.flatten = flatten = Shared(self.flatten)
        format: TokenFormat = self.rows.rule.outputs[0]  # type: ignore[assignment]
        slots, spare = HELD + self.rows.in_flight, self.flatten.spare(0)
        m.submodules.between = between = Shared(ChannelFifo(format, slots, spare))
        join(m, self.input0, rows.input0)
        join(m, rows.output0, between.i)
        join(m, between.o, flatten.input0)
        join(m, flatten.output0, self.output0)
        pass_status(m, rows, self)
        return m
