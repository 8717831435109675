"""A design in Amaranth's simulator, as its instances and wires say."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Elaboratable, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.verilog.modules import Shared, flat_ports
from hw.verilog.structure import Structure


class Assembly(wiring.Component):
    """A `Structure` for Amaranth's simulator: its ports, and ``wires`` to look inside."""

    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        self.wires = {name: Signal(width, name=name) for name, width in structure.wires.items()}
        flows = {"input": In, "output": Out}
        super().__init__(
            {
                name: flows[direction](width)
                for name, (direction, width) in structure.ports.items()
                if name not in structure.gathered
            }
        )

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        for instance in self._structure.instances:
            m.submodules[instance.name] = shared = Shared(instance.component)
            for port, member, value in flat_ports(shared):
                if port in instance.connections:
                    other = self._net(instance.connections[port])
                    inner = Value.cast(value)
                    m.d.comb += inner.eq(other) if member.flow is In else other.eq(inner)
        return m

    def _net(self, name: str | int) -> Any:
        if isinstance(name, int):
            return Const(name)
        return self.wires[name] if name in self.wires else getattr(self, name)
