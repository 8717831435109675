"""A design as instances joined by wires: what the fabric's top is made of, before it is text or simulation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from amaranth.hdl import Const, Elaboratable, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.shared import Parametric, Shared


@dataclass(frozen=True)
class Instance:
    """One use of a component.

    ``connections``: port (as in Verilog) to the name of a wire or port of the design, or a constant; an output
    that is not there stays open. ``comment`` says what it is for.
    """

    name: str
    component: Parametric
    connections: dict[str, str | int]
    comment: str


@dataclass
class Structure:
    """``wires`` and ``ports`` have their widths by name; a port also its direction, ``"input"`` or ``"output"``.

    ``gathered``: ports that put Verilog expressions side by side, lowest first; they exist in the text only.
    """

    name: str
    instances: list[Instance] = field(default_factory=list)
    wires: dict[str, int] = field(default_factory=dict)
    ports: dict[str, tuple[str, int]] = field(default_factory=dict)
    gathered: dict[str, list[str]] = field(default_factory=dict)


def flat_ports(component: wiring.Component) -> Iterator[tuple[str, Any, Any]]:
    """Name (as in Verilog), member and value of every port of ``component``."""
    for path, member, value in component.signature.flatten(component):
        yield "__".join(str(step) for step in path), member, value


def port_widths(component: wiring.Component) -> dict[str, int]:
    """Width of every port."""
    return {name: len(Value.cast(value)) for name, _, value in flat_ports(component)}


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
