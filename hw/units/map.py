"""Map: a datapath between its inputs and its output."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from amaranth.hdl import Module

from hw.functions.datapath import Datapath
from hw.layout import Format, TokenFormat
from hw.shared import Parametric, Shared
from hw.unit import Firing, Rule, Unit
from step.graph import Node
from step.netlist import Netlist
from step.ops.map import Map as Operator


@dataclass(frozen=True)
class Map(Rule):
    """Starts ``datapath`` on every value; everything leaves ``latency`` cycles later."""

    operands: tuple[TokenFormat, ...]
    result: TokenFormat
    datapath: Datapath

    @property
    def initiation_interval(self) -> int:  # type: ignore[override]
        return self.datapath.initiation_interval

    @property
    def latency(self) -> int:  # type: ignore[override]
        return self.datapath.latency

    @property
    def inputs(self) -> tuple[Format, ...]:
        return self.operands

    @property
    def outputs(self) -> tuple[Format, ...]:
        return (self.result,)

    def fire(self, m: Module, firing: Firing) -> None:
        m.submodules.datapath = datapath = Shared(self.datapath)
        token = firing.need_aligned()
        firing.put(0, token, data=0)
        for port in range(len(self.operands)):
            firing.take(port)
            m.d.comb += getattr(datapath, f"operand{port}").eq(firing.head(port).data)
        firing.finish(token.done)

        m.d.comb += datapath.start.eq(firing.fires & token.value)
        firing.occupy(when=token.value)
        firing.late_data(0, datapath.result)


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    assert isinstance(node.operator, Operator)
    function, inputs = node.operator.function, tuple(each.element for each in node.inputs)
    family = importlib.import_module(f"hw.functions.{function.family}")
    datapath = family.datapath(function, inputs, node.output_types[0].element, netlist.fabric, reduce=False)
    operands = tuple(TokenFormat.of(each.type) for each in node.inputs)
    result = TokenFormat.of(node.output_types[0])
    return Unit(Map(operands, result, datapath))
