"""Streamify: reads the buffers of a scratchpad, as often as a reference or a constant says."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import Out

from hw.firing.loop_counters import place_of
from hw.firing.machine import Firing
from hw.firing.unit import FiringRule, Unit
from hw.links.layout import TokenFormat, cycles_of, input_formats, output_formats
from hw.memory.scratchpads import share_format
from hw.memory.share import ReaderSignature, ShareFormat
from hw.verilog.modules import Parametric
from step.language.faults import Fault
from step.language.graph import Node
from step.language.loops import Walk
from step.lowering.netlist import Netlist
from step.ops.streamify import DATA, REFERENCE
from step.ops.streamify import Streamify as Operator


@dataclass(frozen=True)
class Streamify(FiringRule):
    """A token of the buffer each firing, ``count`` times (None: once), or per element of ``reference``.

    ``extra``: dimensions that the reads make. ``out`` and ``stride`` are those of an affine read, else empty.
    """

    references: TokenFormat
    reference: TokenFormat | None
    token: TokenFormat
    share: ShareFormat
    extra: int
    count: int | None
    out: tuple[int, ...]
    stride: tuple[int, ...]

    ports = property(lambda self: {"scratchpad": Out(ReaderSignature(self.share))})
    inputs = property(lambda self: (self.references,) if self.reference is None else (self.references, self.reference))
    outputs = property(lambda self: (self.token,))

    @property
    def depth(self) -> int:
        """Dimensions of a read."""
        return len(self.out) or self.share.rank

    def fire(self, m: Module, firing: Firing) -> None:
        data = firing.need(DATA)
        moves_on = Signal()  # a read is over, or nothing is read
        reference = self._reference(firing, data, moves_on)
        ends = reference.done | (reference.stop >= self.extra) if self.extra else Const(1)
        if self.reference is not None:
            outside = Mux(reference.rank > self.extra, reference.rank - self.extra, 0)
            differ = ~data.done & (reference.stop != data.stop + self.extra)
            with m.If((reference.done != data.done) | (outside != data.rank) | (ends & differ)):
                firing.fault(Fault.STOPS_DISAGREE)

        scratchpad = firing.unit.scratchpad
        reads = data.value & reference.value
        value, last, stop, rank = self._slot(m, firing, reads)
        m.d.comb += moves_on.eq(~reads | last)
        up = Mux(reference.done, 0, reference.stop + self.depth)
        firing.put(
            0,
            done=reference.done,
            value=reads & value,
            stop=Mux(reads & ~last, stop, up),
            rank=Mux(reads, rank, Mux(reference.rank != 0, reference.rank + self.depth, 0)),
            **{name: scratchpad.entry[name] for name in ("control", "rows") if name in self.token.header.members},
        )
        words = value
        if self.token.most_rows:
            words = words & (scratchpad.entry.rows != 0)
        firing.room(~(reads & words) | scratchpad.space)
        if self.reference is not None:
            with m.If(moves_on):
                firing.take(REFERENCE)
        with m.If(moves_on & ends):
            firing.take(DATA)
        firing.occupy(when=reads & value, cycles=cycles_of(self.token, scratchpad.entry))
        firing.finish(reference.done)
        m.d.comb += [
            scratchpad.read.eq(firing.fires & reads & words),
            scratchpad.move.eq(firing.fires & reads),
            scratchpad.leave.eq(firing.fires & moves_on & ends & data.value),
        ]
        if self.token.word_bits:
            firing.send(0, scratchpad.word)

    def _reference(self, firing: Firing, data: Any, moves_on: Value) -> Any:
        """Header of the next read: given by a header, or by the buffer's own and a count."""
        if self.reference is not None:
            return firing.need(REFERENCE)
        if self.count is None:
            return data
        final: Value = Const(1)
        if self.count > 1:
            index = Signal(range(self.count), name="repetition")
            final = (index == self.count - 1) | ~data.value
            firing.next(index, Mux(moves_on, Mux(final, 0, index + 1), index))
        stop = Mux(final & ~data.done, data.stop + 1, 0)
        rank = Mux(data.rank != 0, data.rank + 1, 0)
        return SimpleNamespace(done=data.done, value=data.value, stop=stop, rank=rank)

    def _slot(self, m: Module, firing: Firing, reads: Value) -> tuple[Value, Value, Value, Value]:
        """Value, last, stop and rank of what is read now; goes on to the next one."""
        scratchpad = firing.unit.scratchpad
        at = Signal(self.share.slot_bits)
        entry = scratchpad.entry
        if not self.out:
            m.d.comb += scratchpad.at.eq(Mux(entry.last, 0, at + 1))
            firing.next(at, Mux(reads, scratchpad.at, at))
            return entry.value, entry.last, entry.stop, entry.rank
        place = place_of(m, firing, self.out, reads)
        with m.Switch(place.level):
            for dimension, step in enumerate(Walk(self.out, self.stride).steps):
                with m.Case(dimension):
                    m.d.comb += scratchpad.at.eq(at + step)
        firing.next(at, Mux(reads, scratchpad.at, at))
        return Const(1, 1), place.last, place.level, Const(0, 1)


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    operator = node.operator_as(Operator)
    (references, *others), (token,) = input_formats(node, netlist), output_formats(node, netlist)
    share = share_format(node, netlist)
    assert share is not None
    out, stride = operator.out or (), operator.stride or ()
    reference = others[0] if others else None
    return Unit(Streamify(references, reference, token, share, operator.extra(node), operator.count, out, stride))
