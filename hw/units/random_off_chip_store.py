"""RandomOffChipStore: writes the beats of a tile at its address, and says when they are visible."""

from __future__ import annotations

from dataclasses import dataclass, replace

from amaranth.hdl import Const, Module, Mux, Signal

from hw.firing.machine import Firing
from hw.links.layout import TileFormat, TokenFormat, WriteFormat, input_formats, output_formats
from hw.memory.off_chip import Deliver
from hw.units.beats import BeatRule, gather_beat, storing
from hw.verilog.modules import Parametric
from step.language.faults import Fault
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.ops.random_off_chip_store import RandomOffChipStore as Operator

ADDRESS, DATA = 0, 1
WRITE, PENDING = 0, 1


@dataclass(frozen=True)
class RandomWrite(BeatRule):
    """Tiles have addresses, below ``tiles``; what is to be acknowledged goes out with the last beat."""

    addresses: TokenFormat
    pending: TokenFormat
    tiles: int

    inputs = property(lambda self: (self.addresses, self.data))
    outputs = property(lambda self: (self.write, self.pending))

    def fire(self, m: Module, firing: Firing) -> None:
        self.check_rows(m, firing, DATA)  # other faults come before
        address = firing.head(ADDRESS).control
        with m.If(firing.head(ADDRESS).value & firing.beyond(ADDRESS, self.tiles)):
            firing.fault(Fault.OUT_OF_RANGE)
        token = firing.need_aligned()
        beat = Signal(range(self.beats))
        last = beat == self.beats - 1
        firing.complete(WRITE, data=gather_beat(m, firing, DATA, self.tile, beat, self.write.bits))
        firing.occupy(when=token.value)
        with m.If(token.value):
            place = address[: max(1, (self.tiles - 1).bit_length())] * self.beats + beat
            firing.put(WRITE, address=firing.unit.base + place)
            firing.next(beat, Mux(last, 0, beat + 1))
        with m.If(~token.value | last):
            firing.put(PENDING, token)
            firing.take(ADDRESS)
            firing.take(DATA)
        firing.finish(token.done)


@dataclass(frozen=True)
class Acknowledge(Deliver):
    """An acknowledgement leaves when its tile is visible."""

    @property
    def tile(self) -> TileFormat:
        return TileFormat(0, 0)

    def give(self, m: Module, firing: Firing) -> None:
        if self.token.word_bits:
            firing.send(0, Const(1, 1))


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    operator, fabric = node.operator_as(Operator), netlist.at(node)
    addresses, data = input_formats(node, netlist)
    (token,) = output_formats(node, netlist)
    pending = replace(token, items=(), control=False)
    rows, beat = operator.tile[0] if data.most_rows else None, WriteFormat(8 * fabric.memory.beat_bytes)
    write = RandomWrite(data, beat, addresses, pending, operator.tiling.count, rows=rows)
    return storing(node, write, Acknowledge(pending, token), fabric.outstanding)
