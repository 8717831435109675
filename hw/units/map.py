"""Map: a datapath between its inputs and its output."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Module

from hw.function_rule import FunctionRule
from hw.functions import datapath_of
from hw.layout import TokenFormat
from hw.shared import Parametric, Shared
from hw.unit import Firing, Unit
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.ops.map import Map as Operator


@dataclass(frozen=True)
class Map(FunctionRule):
    """Starts ``datapath`` on every value; everything leaves ``latency`` cycles later."""

    def fire(self, m: Module, firing: Firing) -> None:
        m.submodules.datapath = datapath = Shared(self.datapath)
        token = firing.need_aligned()
        firing.put(0, done=token.done, value=token.value, stop=token.stop, rank=token.rank)
        for port in range(len(self.operands)):
            firing.take(port)
            m.d.comb += getattr(datapath, f"operand{port}").eq(firing.word(port))
        firing.finish(token.done)

        m.d.comb += datapath.start.eq(firing.lagging(firing.fires & token.value))
        firing.occupy(when=token.value)
        self.give(firing, datapath.result)


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    assert isinstance(node.operator, Operator)
    operands = tuple(TokenFormat.of(each.type) for each in node.inputs)
    result = TokenFormat.of(node.output_types[0])
    return Unit(Map(operands, result, datapath_of(node, node.operator.function, netlist)))
