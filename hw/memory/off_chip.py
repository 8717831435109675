"""Units at off-chip memory: one machine issues what goes there, another one delivers what is pending."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import Elaboratable, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.firing.machine import Firing
from hw.firing.unit import STATUS, FiringRule, Unit, join, pass_status
from hw.links.channel import ChannelFifo, ConsumerSignature
from hw.links.layout import AddressFormat, TileFormat, TokenFormat, input_formats, is_far, output_formats
from hw.links.tile_queue import TileQueue
from hw.links.words import whole
from hw.memory.port import OffChipPort, outside
from hw.rules.unit import Translated
from hw.rules.values import Beats
from hw.verilog.modules import Parametric, Shared
from hw.verilog.spelling import Spelling, spelled, stream_words
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
    """The hardware of an ``operator`` (its class, by name) at off-chip memory.

    One machine is to ``issue`` what goes to memory, behind a ``port``, another one to ``deliver`` what is pending in so
    many ``slots``, as the ``queue`` has what memory answered. A load gets tiles in beats of ``beat_bits``; a store (0)
    has an answer to each beat that is ``written``, in order, or none.
    """

    verilog_folder = "units"
    stem = property(lambda self: self._operator)

    def __init__(
        self,
        operator: str,
        issue: FiringRule,
        port: OffChipPort,
        deliver: Deliver | None = None,
        queue: TileQueue | None = None,
        slots: int = 0,
        beat_bits: int = 0,
    ) -> None:
        self._operator, self.issue, self.port = operator, issue, port
        self.deliver, self.queue, self.slots = deliver, queue, slots
        members: dict[str, Any] = {f"input{at}": In(ConsumerSignature(each)) for at, each in enumerate(issue.inputs)}
        members |= {"base": In(32), MEMORY_RESET: In(1)}
        if beat_bits:
            response = wiring.Signature({"payload": Out(beat_bits), "valid": Out(1)})  # always ready: see `TileQueue`
            members |= {"request": Out(stream.Signature(32)), "response": In(response)}
        else:
            members |= {"external": port.signature.members["o"]} | ({} if deliver is None else {"written": In(1)})
        units = [Unit(each) for each in (issue, deliver) if each is not None]
        if deliver is not None:
            members |= {"output0": units[1].signature.members["output0"]}
            self.in_flight = units[1].in_flight
        super().__init__({**members, **STATUS})
        self.longest_pause = max(each.longest_pause for each in units)

    @property
    def spelling(self) -> Spelling:
        behind = () if self.deliver is None else (self.deliver.token,)
        walks = (spelled(vars(each.walk)) for each in self.issue.numbers.values() if isinstance(each, Beats))
        return sum(walks, Spelling.some(*stream_words(self.issue.inputs, behind).pieces))

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.submodules.issue = issue = self._machine(self.issue)
        m.submodules.port = port = Shared(self.port)
        for at in range(len(self.issue.inputs)):
            join(m, getattr(self, f"input{at}"), getattr(issue, f"input{at}"))
        join(m, issue.output0, port.i)
        outside(m, port, self, self.request if hasattr(self, "request") else self.external)
        m.d.comb += issue.base.eq(self.base)
        if self.deliver is None or self.queue is None:
            pass_status(m, issue, self)
            return m
        m.submodules.deliver = deliver = self._machine(self.deliver)
        m.submodules.pending = pending = Shared(ChannelFifo(self.deliver.pending, self.slots).at_distance(self.far))
        m.submodules.queue = queue = Shared(self.queue)
        join(m, issue.output1, pending.i)
        join(m, pending.o, deliver.input0)
        join(m, queue.o, deliver.input1)
        join(m, deliver.output0, self.output0)
        answer = self.response.valid if hasattr(self, "response") else self.written
        m.d.comb += [port.answer.eq(answer), queue.valid.eq(port.answered)]
        if hasattr(queue, "beat"):
            m.d.comb += queue.beat.eq(self.response.payload)
        pass_status(m, deliver, self)
        m.d.comb += self.fault.eq(issue.fault)
        return m

    def _machine(self, rule: FiringRule) -> Any:
        return Shared(Unit(rule).at_distance(self.far))


def loading(node: Node, netlist: Netlist, declared: Declared) -> OffChipUnit:
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
    bits, slots, far = 8 * fabric.memory.beat_bytes, fabric.outstanding, is_far(netlist)
    port = OffChipPort(AddressFormat(), INSIDE, beats, slots * beats).at_distance(far)
    queue = TileQueue(deliver.tile, bits, beats, slots, block_ram=deep).at_distance(far)
    return OffChipUnit(type(node.operator).__name__, issue, port, deliver, queue, slots, bits)
