"""Loads: one machine issues requests, another one delivers tiles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import Elaboratable, Module, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.firing.machine import Firing
from hw.firing.unit import STATUS, FiringRule, Unit, join, pass_status
from hw.links.channel import ChannelFifo, ConsumerSignature
from hw.links.layout import AddressFormat, TileFormat, TokenFormat, input_formats, output_formats
from hw.links.tile_queue import TileQueue
from hw.links.words import whole
from hw.memory.port import OffChipPort, outside
from hw.rules.unit import Translated
from hw.verilog.modules import Parametric, Shared, Spelling, spelled, stream_words
from hw.verilog.structure import MEMORY_RESET
from step.firing.declared import Declared
from step.language.graph import Node
from step.lowering.links import INSIDE
from step.lowering.netlist import Netlist


@dataclass(frozen=True)
class Deliver(FiringRule):
    """Joins what a token will be with its tile; a header that carries its tile waits for all the words."""

    pending: TokenFormat
    token: TokenFormat

    @property
    def _data(self) -> TokenFormat:
        """Format of what comes from memory, which is always words."""
        return replace(self.token, control=False)

    @property
    def tile(self) -> TileFormat:
        """Format of the tile that must have come."""
        return TileFormat(self._data.word_bits, self._data.words)

    latency = property(lambda self: self.tile.words if self.token.control else 0)
    inputs = property(lambda self: (self.pending, self.tile))
    outputs = property(lambda self: (self.token,))

    def fire(self, m: Module, firing: Firing) -> None:
        pending = firing.need(0)
        with m.If(pending.value):
            firing.wait(firing.visible(1))
            firing.take(1)
        firing.put(0, pending)
        self.give(m, firing)
        firing.occupy(when=pending.value)
        firing.take(0)
        firing.finish(pending.done)

    def give(self, m: Module, firing: Firing) -> None:
        """The tile that leaves with the header."""
        firing.pass_data(1, 0)
        if self.token.control:
            tile = whole(m, "tile", firing.word(1), firing.phase(), self._data, self.tile.words - 1)
            firing.complete(0, control=tile)


class OffChipUnit(Parametric):
    """A machine in front of a port of off-chip memory, and one that hands on what is pending as memory answers."""

    def ask(self, m: Module, rule: FiringRule, port: OffChipPort, external: Any) -> tuple[Any, Any]:
        """Place the machine with ``rule``, and the ``port`` that leads to ``external``."""
        m.submodules.issue = issue = Shared(Unit(rule))
        m.submodules.requests = requests = Shared(port)
        for number in range(len(rule.inputs)):
            join(m, getattr(self, f"input{number}"), getattr(issue, f"input{number}"))
        join(m, issue.output0, requests.i)
        outside(m, requests, self, external)
        m.d.comb += issue.base.eq(self.base)
        return issue, requests

    def hand_on(
        self, m: Module, asked: tuple[Any, Any], rule: Deliver, queue: TileQueue, slots: int, answer: Value
    ) -> Any:
        """Place the machine with ``rule`` behind so many ``slots``, and the ``queue`` of what memory has answered."""
        issue, requests = asked
        m.submodules.deliver = deliver = Shared(Unit(rule))
        m.submodules.pending = pending = Shared(ChannelFifo(rule.pending, slots))
        m.submodules.tiles = tiles = Shared(queue)
        join(m, issue.output1, pending.i)
        join(m, pending.o, deliver.input0)
        join(m, tiles.o, deliver.input1)
        join(m, deliver.output0, self.output0)
        m.d.comb += [requests.answer.eq(answer), tiles.valid.eq(requests.answered)]
        pass_status(m, deliver, self)
        m.d.comb += self.fault.eq(issue.fault)
        return tiles


class TileLoad(OffChipUnit):
    """The machine that asks for tiles, the one that hands them on, and queues between them.

    ``operator`` is the name of the class that it is the hardware of. Tiles are put together from ``beats``.
    """

    verilog_folder = "units"
    stem = property(lambda self: self._operator)

    def __init__(
        self,
        operator: str,
        issue: FiringRule,
        deliver: Deliver,
        beat_bits: int,
        beats: int,
        outstanding_tiles: int,
        block_ram: bool,
    ) -> None:
        self._operator, self.deep = operator, block_ram
        self.issue, self.deliver = issue, deliver
        self.beat_bits, self.beats, self.outstanding = beat_bits, beats, outstanding_tiles
        members = {f"input{port}": In(ConsumerSignature(each)) for port, each in enumerate(issue.inputs)}
        response = wiring.Signature({"payload": Out(beat_bits), "valid": Out(1)})  # always ready: see `TileQueue`
        members |= {"output0": Unit(deliver).signature.members["output0"], "base": In(32)}
        members |= {"request": Out(stream.Signature(32)), "response": In(response), MEMORY_RESET: In(1)}
        super().__init__({**members, **STATUS})
        self.in_flight, self.longest_pause = Unit(self.deliver).in_flight, Unit(self.deliver).longest_pause

    @property
    def spelling(self) -> Spelling:
        walk = spelled(vars(self.issue.numbers["addresses"].walk))
        return Spelling.some(*stream_words((), (self.deliver.token,)).pieces, *walk.pieces)

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        memory = OffChipPort(AddressFormat(), INSIDE, self.beats, self.outstanding * self.beats)
        queue = TileQueue(self.deliver.tile, self.beat_bits, self.beats, self.outstanding, block_ram=self.deep)
        asked = self.ask(m, self.issue, memory, self.request)
        tiles = self.hand_on(m, asked, self.deliver, queue, self.outstanding, self.response.valid)
        if self.deliver.tile.word_bits:
            m.d.comb += tiles.beat.eq(self.response.payload)
        return m


def loading(node: Node, netlist: Netlist, declared: Declared) -> TileLoad:
    """The hardware of ``node``, whose machine is ``declared``, and asks for tiles."""
    access, fabric = node.operator.reads(node), netlist.at(node)
    assert access is not None and declared.loads is not None
    beats = fabric.memory.beats(access.tile.bits)
    (token,) = output_formats(node, netlist)
    pending = replace(token, items=(), control=False)
    walk = declared.loads.times(beats, -beats * declared.loads.bounds[0])
    issue = Translated.of(replace(declared, loads=walk), input_formats(node, netlist), (AddressFormat(), pending))
    deliver = Deliver(pending, token)
    deep = fabric.outstanding * deliver.tile.words > fabric.block_ram_words
    sizes = 8 * fabric.memory.beat_bytes, beats, fabric.outstanding
    return TileLoad(type(node.operator).__name__, issue, deliver, *sizes, block_ram=deep)


def beat_of(address: Value, tiles: int, beats: int) -> Value:
    """The first beat of the tile at ``address``, if there are so many ``tiles`` of ``beats``."""
    return address[: max(1, (tiles - 1).bit_length())] * beats
