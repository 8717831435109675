"""Map: a datapath between its inputs and its output."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Module, Value

from hw.firing.machine import Firing
from hw.functions import datapath_of
from hw.links.layout import input_formats, output_formats
from hw.units.function_rule import FunctionRule
from hw.verilog.modules import Parametric
from step.language.faults import Fault
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.ops.map import Map as Operator


@dataclass(frozen=True)
class Map(FunctionRule):
    """Starts ``datapath`` on every value; everything leaves ``latency`` cycles later.

    ``bounds``: inputs that are indices, and what each of them has to be below. ``counts``: selectors, and how many
    targets each of them has to have.
    """

    bounds: tuple[tuple[int, int], ...]
    counts: tuple[tuple[int, int], ...] = ()

    def fire(self, m: Module, firing: Firing) -> None:
        for port, bound in self.bounds:
            index = firing.head(port)
            with m.If(index.value & (index.control >= bound)):
                firing.fault(Fault.OUT_OF_RANGE)
        for port, count in self.counts:
            selector = firing.head(port)
            with m.If(selector.value & (targets_in(selector.control) != count)):
                firing.fault(Fault.OUT_OF_RANGE)
        token = firing.need_aligned()  # which other faults come first
        rows = self.rows(m, firing, token)
        firing.put(0, done=token.done, value=token.value, stop=token.stop, rank=token.rank, **self.field(rows))
        for port in range(len(self.operands)):
            firing.take(port)
        firing.finish(token.done)
        firing.occupy(when=token.value, cycles=self.pace(rows).initiation_interval)
        if self.datapath is not None:
            datapath = self.start(m, firing, token.value, rows)
            self.stamp(m, firing, datapath, rows)
            self.send_result(m, firing, datapath.result, token.value)


def targets_in(selector: Value) -> Value:
    """Number of bits that are set: pairs are added, then pairs of those sums."""
    sums: list[Value] = [*selector]
    while len(sums) > 1:
        alone = sums[len(sums) & ~1 :]
        sums = [one + other for one, other in zip(sums[::2], sums[1::2], strict=False)] + alone
    return sums[0]


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    assert isinstance(node.operator, Operator)
    (result,) = output_formats(node, netlist)
    datapath = datapath_of(node, node.operator.function, netlist) if result.items else None
    rule = Map(input_formats(node, netlist), result, datapath, node.operator.bounds(node), node.operator.counts(node))
    return rule.unit(node, netlist)
