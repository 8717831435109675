"""A design in Amaranth's simulator, as its instances and wires say."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Elaboratable, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cosim.running.bench_run import memory_image
from hw.verilog.modules import Shared, flat_ports
from hw.verilog.structure import Structure
from step.lowering.netlist import Netlist
from step.programs.data.inputs import BoundInputs


def beats_of(netlist: Netlist, data: BoundInputs) -> list[int]:
    """What off-chip memory has at first, beat by beat."""
    image, size = memory_image(netlist, data), netlist.fabric.memory.beat_bytes
    return [int.from_bytes(image[at : at + size], "little") for at in range(0, len(image), size)]


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
            # Amaranth's simulator does all of a module again when any of it changes.
            m.submodules[f"into_{instance.name}"] = into = Module()
            m.submodules[f"from_{instance.name}"] = outward = Module()
            for port, member, value in flat_ports(shared):
                if port in instance.connections:
                    other = self._net(instance.connections[port])
                    inner = Value.cast(value)
                    if member.flow is In:
                        into.d.comb += inner.eq(other)
                    else:
                        outward.d.comb += other.eq(inner)
        return m

    def parts(self, name: str) -> list[Signal]:
        """The ports of what leaves or enters at ``name``, the lowest first."""
        ports = (f"{name}__payload", *(f"{name}_{part}" for part in ("tuser", "tlast", "tdata")))
        return [getattr(self, port) for port in ports if hasattr(self, port)]

    def offer(self, context: Any, name: str, transfer: int | None) -> None:
        """Source ``name`` has ``transfer`` to give, or nothing."""
        context.set(getattr(self, f"{name}_tvalid"), transfer is not None)
        rest = transfer or 0
        for signal in self.parts(name):
            context.set(signal, rest & (1 << len(signal)) - 1)
            rest >>= len(signal)

    def _net(self, name: str | int) -> Any:
        if isinstance(name, int):
            return Const(name)
        return self.wires[name] if name in self.wires else getattr(self, name)
