"""LinearOffChipLoad: one machine issues requests, another one delivers tiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.channel import Channel, ConsumerSignature
from hw.functions.words import whole
from hw.layout import AddressFormat, Format, TileFormat, TokenFormat, input_formats, output_formats
from hw.shared import Parametric, Shared
from hw.tile_queue import TileQueue
from hw.unit import STATUS, Firing, Rule, Unit, join, offer, pass_status
from step.language.graph import Node
from step.lowering.memory_map import MemoryMap
from step.lowering.netlist import Netlist
from step.ops.linear_off_chip_load import LinearOffChipLoad as Operator

REQUEST, PENDING = 0, 1
REQUEST_DEPTH = 2


@dataclass(frozen=True)
class LoadIssue(Rule):
    """Walks the tiles, once or per element of ``reference``: a request each, and what its token will be.

    ``extents`` and ``strides`` (in beats) are those of the walk, outermost first.
    """

    reference: TokenFormat | None
    pending: TokenFormat
    extents: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def ports(self) -> Mapping[str, Any]:
        return {"base": In(32)}

    @property
    def inputs(self) -> tuple[Format, ...]:
        return () if self.reference is None else (self.reference,)

    @property
    def outputs(self) -> tuple[Format, ...]:
        return (AddressFormat(), self.pending)

    def fire(self, m: Module, firing: Firing) -> None:
        if self.reference is None:
            walked = Signal()
            with m.If(~walked):
                firing.next(walked, self._read(m, firing, 0))
            with m.Else():
                firing.put(PENDING, done=1)
                firing.finish()
            return
        reference = firing.need(0)
        with m.If(reference.value):
            last = self._read(m, firing, reference.stop)
            with m.If(last):
                firing.take(0)
        with m.Else():
            with m.If(reference.done):
                firing.put(PENDING, done=1)
            with m.Else():
                depth = len(self.extents)
                firing.put(PENDING, stop=reference.stop + depth, rank=reference.rank + depth)
            firing.take(0)
            firing.finish(reference.done)

    def _read(self, m: Module, firing: Firing, stop: Any) -> Value:
        """Request a tile, and step to the next one; returns whether it was the last one, which ``stop`` follows."""
        offset = Signal(32)
        level = Signal(range(len(self.extents) + 1))  # how many of the inner indices are at their last value
        steps, back, inner_last = [], 0, Value.cast(1)
        for dimension, (extent, stride) in enumerate(zip(reversed(self.extents), reversed(self.strides), strict=True)):
            steps.append(stride - back)
            back += (extent - 1) * stride
            if extent > 1:
                index = Signal(range(extent), name=f"index{dimension}")
                with m.If(inner_last):
                    firing.next(index, Mux(index == extent - 1, 0, index + 1))
                inner_last = inner_last & (index == extent - 1)
            with m.If(inner_last):
                m.d.comb += level.eq(dimension + 1)
        with m.Switch(level):
            for dimension, step in enumerate(steps):
                with m.Case(dimension):
                    firing.next(offset, offset + step)
            with m.Default():
                firing.next(offset, 0)
        firing.put(REQUEST, address=firing.unit.base + offset)
        firing.put(PENDING, value=1, stop=Mux(inner_last, len(self.extents) + stop, level))
        return inner_last


@dataclass(frozen=True)
class LoadDeliver(Rule):
    """Joins what a token will be with its tile; a header that carries its tile waits for all the words."""

    pending: TokenFormat
    token: TokenFormat

    @property
    def data(self) -> TokenFormat:
        """What comes from memory, which is always words."""
        return replace(self.token, control=False)

    @property
    def tile(self) -> TileFormat:
        """These words, without header."""
        return TileFormat(self.data.word_bits, self.data.beats)

    @property
    def latency(self) -> int:  # type: ignore[override]
        return self.data.beats if self.token.control else 0

    @property
    def inputs(self) -> tuple[Format, ...]:
        return (self.pending, self.tile)

    @property
    def outputs(self) -> tuple[Format, ...]:
        return (self.token,)

    def fire(self, m: Module, firing: Firing) -> None:
        pending = firing.need(0)
        with m.If(pending.value):
            firing.wait(firing.visible(1))
            firing.take(1)
        firing.put(0, pending)
        firing.pass_data(1, 0)
        if self.token.control:
            firing.late(0, control=whole(m, "tile", firing.word(1), firing.phase(), self.data, self.data.beats - 1))
        firing.occupy(when=pending.value)
        firing.take(0)
        firing.finish(pending.done)


class LinearOffChipLoad(Parametric):
    """The two machines, the queues between them, and the assembly of tiles from beats."""

    def __init__(
        self, issue: LoadIssue, deliver: LoadDeliver, beat_bits: int, beats: int, outstanding: int, *, deep: bool
    ) -> None:
        self.deep = deep
        self.issue, self.deliver = issue, deliver
        self.beat_bits, self.beats, self.outstanding = beat_bits, beats, outstanding
        members = {f"input{port}": In(ConsumerSignature(each)) for port, each in enumerate(issue.inputs)}
        response = wiring.Signature({"payload": Out(beat_bits), "valid": Out(1)})  # always ready: see `TileQueue`
        super().__init__(
            {
                **members,
                "output0": Unit(deliver).signature.members["output0"],
                "base": In(32),
                "request": Out(stream.Signature(32)),
                "response": In(response),
                **STATUS,
            }
        )

    @property
    def in_flight(self) -> int:
        return Unit(self.deliver).in_flight

    @property
    def parameters(self) -> tuple[Any, ...]:
        return self.issue, self.deliver, self.beat_bits, self.beats, self.outstanding, self.deep

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.submodules.issue = issue = Shared(Unit(self.issue))
        m.submodules.deliver = deliver = Shared(Unit(self.deliver))
        m.submodules.requests = requests = Shared(Channel(AddressFormat(), REQUEST_DEPTH))
        m.submodules.pending = pending = Shared(Channel(self.issue.pending, self.outstanding))
        queue = TileQueue(self.deliver.tile, self.beat_bits, self.beats, self.outstanding, deep=self.deep)
        m.submodules.tiles = tiles = Shared(queue)
        for port in range(len(self.issue.inputs)):
            join(m, getattr(self, f"input{port}"), getattr(issue, f"input{port}"))
        join(m, issue.output0, requests.i)
        join(m, issue.output1, pending.i)
        offer(m, requests.o, self.request)
        join(m, pending.o, deliver.input0)
        join(m, tiles.o, deliver.input1)
        join(m, deliver.output0, self.output0)
        m.d.comb += [
            issue.base.eq(self.base),
            tiles.beat.eq(self.response.payload),
            tiles.valid.eq(self.response.valid),
        ]
        pass_status(m, deliver, self)
        return m


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    operator, fabric = node.operator, netlist.fabric
    assert isinstance(operator, Operator)
    beats = fabric.memory.beats(operator.element.bits)
    (token,), references = output_formats(node, netlist), input_formats(node, netlist)
    pending = replace(token, items=(), control=False)
    reference = references[0] if references else None
    issue = LoadIssue(reference, pending, operator.out, tuple(each * beats for each in operator.stride))
    deliver = LoadDeliver(pending, token)
    deep = fabric.outstanding * deliver.tile.beats > fabric.block_ram_words
    return LinearOffChipLoad(issue, deliver, 8 * fabric.memory.beat_bytes, beats, fabric.outstanding, deep=deep)


def constants(node: Node, memory: MemoryMap) -> dict[str, int]:
    """Values of the unit's constant ports."""
    assert isinstance(node.operator, Operator)
    region = memory.loads[node.name]
    return {"base": region.base + node.operator.offset * region.beats_per_tile}
