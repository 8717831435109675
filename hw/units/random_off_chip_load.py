"""RandomOffChipLoad: a request for every address."""

from __future__ import annotations

from dataclasses import dataclass, replace

from amaranth.hdl import Module
from amaranth.lib.wiring import In

from hw.firing.machine import Firing
from hw.firing.unit import FiringRule
from hw.links.layout import AddressFormat, TokenFormat, input_formats, output_formats
from hw.memory.tile_load import PENDING, REQUEST, Deliver, TileLoad, beat_of
from hw.verilog.modules import Parametric
from step.language.faults import Fault
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.ops.random_off_chip_load import RandomOffChipLoad as Operator


@dataclass(frozen=True)
class RandomIssue(FiringRule):
    """A request for every address below ``tiles``, and what its token will be; a tile has ``beats``."""

    addresses: TokenFormat
    pending: TokenFormat
    tiles: int
    beats: int

    ports = property(lambda self: {"base": In(32)})
    inputs = property(lambda self: (self.addresses,))
    outputs = property(lambda self: (AddressFormat(), self.pending))

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.need(0)
        with m.If(token.value):
            with m.If(token.control >= self.tiles):
                firing.fault(Fault.OUT_OF_RANGE)
            firing.put(REQUEST, address=firing.unit.base + beat_of(token.control, self.tiles, self.beats))
        firing.put(PENDING, token)
        firing.take(0)
        firing.finish(token.done)


class RandomOffChipLoad(TileLoad):
    """Requests at addresses."""


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    operator, fabric = node.operator_as(Operator), netlist.at(node)
    beats = fabric.memory.beats(operator.tiling.element.bits)
    (token,), (addresses,) = output_formats(node, netlist), input_formats(node, netlist)
    pending = replace(token, items=(), control=False)
    issue = RandomIssue(addresses, pending, operator.tiling.count, beats)
    deliver = Deliver(pending, token)
    deep = fabric.outstanding * deliver.tile.words > fabric.block_ram_words
    return RandomOffChipLoad(issue, deliver, 8 * fabric.memory.beat_bytes, beats, fabric.outstanding, block_ram=deep)
