"""RandomOffChipStore: writes the beats of a tile at its address, and says when they are visible."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import Const, Elaboratable, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hw.firing.machine import Firing
from hw.firing.unit import STATUS, Unit, join, pass_status
from hw.links.channel import ChannelFifo, ConsumerSignature
from hw.links.layout import TileFormat, TokenFormat, WriteFormat, input_formats, output_formats
from hw.links.tile_queue import TileQueue
from hw.memory.port import OffChipPort, outside
from hw.memory.tile_load import Deliver, beat_of
from hw.units.beats import WRITE_DEPTH, BeatRule, StoredFormat, gather_beat
from hw.verilog.modules import Parametric, Shared
from hw.verilog.structure import MEMORY_RESET
from step.language.faults import Fault
from step.language.graph import Node
from step.lowering.memory import MemoryMap
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
        with m.If(firing.head(ADDRESS).value & (address >= self.tiles)):
            firing.fault(Fault.OUT_OF_RANGE)
        token = firing.need_aligned()
        beat = Signal(range(self.beats))
        last = beat == self.beats - 1
        firing.complete(WRITE, data=gather_beat(m, firing, DATA, self.tile, beat, self.write.bits))
        firing.occupy(when=token.value)
        with m.If(token.value):
            firing.put(WRITE, address=firing.unit.base + beat_of(address, self.tiles, self.beats) + beat)
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


class RandomOffChipStore(Parametric):
    """The two machines, the queues between them, and the channel in front of the memory.

    ``written``: a beat is visible in memory; they become so in order.
    """

    def __init__(self, write: RandomWrite, acknowledge: Acknowledge, outstanding: int) -> None:
        self.write, self.acknowledge, self.outstanding = write, acknowledge, outstanding
        super().__init__(
            {
                "input0": In(ConsumerSignature(write.addresses)),
                "input1": In(ConsumerSignature(write.data)),
                "output0": Unit(acknowledge).signature.members["output0"],
                "base": In(32),
                "external": Out(stream.Signature(write.write.header)),
                "written": In(1),
                MEMORY_RESET: In(1),
                **STATUS,
            }
        )
        self.parameters = {"write": self.write, "acknowledge": self.acknowledge, "outstanding": self.outstanding}
        self.longest_pause = Unit(self.write).longest_pause

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        in_flight, beats = Unit(self.write).in_flight, self.write.beats
        tiles = self.outstanding + in_flight
        m.submodules.write = write = Shared(Unit(self.write))
        m.submodules.acknowledge = acknowledge = Shared(Unit(self.acknowledge))
        # A tile is pending with its last beat, so the first ones of another one may be on their way besides.
        memory = OffChipPort(self.write.write, WRITE_DEPTH + in_flight, 1, (tiles + 1) * beats - 1)
        m.submodules.writes = writes = Shared(memory)
        m.submodules.pending = pending = Shared(ChannelFifo(self.write.pending, tiles))
        queue = TileQueue(self.acknowledge.tile, 0, beats, tiles, block_ram=False)
        m.submodules.visible = visible = Shared(queue)
        join(m, self.input0, write.input0)
        join(m, self.input1, write.input1)
        join(m, write.output0, writes.i)
        join(m, write.output1, pending.i)
        outside(m, writes, self, self.external)
        join(m, pending.o, acknowledge.input0)
        join(m, visible.o, acknowledge.input1)
        join(m, acknowledge.output0, self.output0)
        m.d.comb += [write.base.eq(self.base), writes.answer.eq(self.written), visible.valid.eq(writes.answered)]
        pass_status(m, acknowledge, self)
        m.d.comb += self.fault.eq(write.fault)
        return m


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    operator, fabric = node.operator, netlist.at(node)
    assert isinstance(operator, Operator)
    addresses, data = input_formats(node, netlist)
    (token,) = output_formats(node, netlist)
    pending = replace(token, items=(), control=False)
    data = StoredFormat.at(data, operator.tile[0])
    write = RandomWrite(data, WriteFormat(8 * fabric.memory.beat_bytes), addresses, pending, operator.tiling.count)
    return RandomOffChipStore(write, Acknowledge(pending, token), fabric.outstanding)


def constants(node: Node, memory: MemoryMap) -> dict[str, int]:
    """Values of the unit's constant ports."""
    return {"base": memory.stores[node.name].base}
