"""LinearOffChipLoad: requests along a walk over the tensor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.wiring import In

from hw.firing.loop_counters import walk
from hw.firing.machine import Firing
from hw.firing.unit import FiringRule
from hw.links.layout import AddressFormat, TokenFormat, input_formats, output_formats
from hw.memory.tile_load import PENDING, REQUEST, Deliver, TileLoad
from hw.verilog.modules import Parametric
from step.language.graph import Node
from step.lowering.memory import MemoryMap
from step.lowering.netlist import Netlist
from step.ops.linear_off_chip_load import LinearOffChipLoad as Operator


@dataclass(frozen=True)
class LoadIssue(FiringRule):
    """Walks the tiles, once or per element of ``reference``: a request each, and what its token will be.

    ``extents`` and ``strides`` (in beats) are those of the walk, outermost first.
    """

    reference: TokenFormat | None
    pending: TokenFormat
    extents: tuple[int, ...]
    strides: tuple[int, ...]

    ports = property(lambda self: {"base": In(32)})
    inputs = property(lambda self: () if self.reference is None else (self.reference,))
    outputs = property(lambda self: (AddressFormat(), self.pending))

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
        place = walk(m, firing, self.extents, self.strides)
        with m.Switch(place.level):
            for dimension, step in enumerate(place.steps):
                with m.Case(dimension):
                    firing.next(offset, offset + step)
            with m.Default():
                firing.next(offset, 0)
        firing.put(REQUEST, address=firing.unit.base + offset)
        firing.put(PENDING, value=1, stop=Mux(place.last, len(self.extents) + stop, place.level))
        return place.last


class LinearOffChipLoad(TileLoad):
    """Requests along a walk."""


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    operator, fabric = node.operator_as(Operator), netlist.at(node)
    beats = fabric.memory.beats(operator.tiling.element.bits)
    (token,), references = output_formats(node, netlist), input_formats(node, netlist)
    pending = replace(token, items=(), control=False)
    reference = references[0] if references else None
    issue = LoadIssue(reference, pending, operator.out, tuple(each * beats for each in operator.stride))
    deliver = Deliver(pending, token)
    deep = fabric.outstanding * deliver.tile.words > fabric.block_ram_words
    return LinearOffChipLoad(issue, deliver, 8 * fabric.memory.beat_bytes, beats, fabric.outstanding, block_ram=deep)


def constants(node: Node, memory: MemoryMap) -> dict[str, int]:
    """Values of the unit's constant ports."""
    region = memory.loads[node.name]
    return {"base": region.base + node.operator_as(Operator).offset * region.beats_per_tile}
