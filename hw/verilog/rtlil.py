"""RTLIL of a component, with the names that a person would give: they are those of the Verilog.

Amaranth's own conversion gives names that Verilog has to escape, and wires that nobody reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import IOBufferInstance, IOPort, Value, _ir, _nir
from amaranth.hdl._ast import SignalDict
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from hw.verilog.modules import flat_ports
from step.errors import FabricError

MOST_PORT_BITS = 65_536
"""Bits of one port, as Amaranth counts them."""
MOST_INPUT_BITS = 65_000
"""Bits of all inputs of a module as Amaranth counts them; those of wider ones come through buffers, one for each."""


def plain_rtlil(component: wiring.Component, name: str, platform: Any, initial_values: bool = True) -> str:
    """RTLIL of ``component``, whose module is called ``name``; those that are its alone begin so.

    Temporaries are n1, n2 and so on, and what a register will be is called after it. Wires of no bits, and other names
    of a value that were numbered only to differ, are left out.
    Memories that are written get no initial value: nothing follows from a word before it is written.
    """
    inputs, ports = dict[str, Value](), dict[str, tuple[Any, Any]]()
    for port, member, value in flat_ports(component):
        bits = Value.cast(value)
        if len(bits) > MOST_PORT_BITS:
            raise FabricError(
                f"{name} has a port of {len(bits):,} bits ({port}), more than {MOST_PORT_BITS:,}: use narrower links"
            )
        if member.flow is In:
            inputs[port] = bits
        ports[port] = bits, _ir.PortDirection.Input if member.flow is In else _ir.PortDirection.Output
    fragment = _ir.Fragment.get(component, platform)
    if sum(map(len, inputs.values())) > MOST_INPUT_BITS:
        for port, bits in inputs.items():
            ports[port] = (outside := IOPort(len(bits), name=port)), None
            fragment.add_subfragment(IOBufferInstance(outside, i=bits))
    netlist = _ir.build_netlist(fragment, ports=ports, name=name)
    empty = rtlil.EmptyModuleChecker(netlist)
    modules = []
    for index, module in enumerate(netlist.modules):
        if not empty.is_empty(index):
            builder = _Module("_".join(module.name), {*module.ports, *module.signal_names.values()})
            (_Emitter if initial_values else _ResetOnly)(builder, netlist, module, SignalDict(), empty).emit()
            modules.append(builder)
    emitter = rtlil.Emitter()
    for each in modules:
        each.emit(emitter)
    return str(emitter)


class _Module(rtlil.Module):
    """Names every object so that Verilog need not escape it; ``taken`` are names to keep as they are."""

    def __init__(self, name: str, taken: Iterable[str]) -> None:
        super().__init__(name, emit_src=False)
        self._taken = set(taken)

    def _name(self, name: str | None) -> str:
        plain = name or f"n{self._auto_name()[1:]}"
        if name is None or not name.isidentifier():
            plain = re.sub(r"\W+", "_", plain)
            while plain in self._taken:
                plain += "_"
        self._taken.add(plain)
        return str(super()._name(plain))

    def cell(self, kind: str, name: str | None = None, **arguments: Any) -> Any:
        return super().cell(kind.replace(".", "_"), name, **arguments)


class _Emitter(rtlil.ModuleEmitter):
    """Writes one module."""

    def emit_signal_wires(self) -> None:
        super().emit_signal_wires()
        for index in self.module.cells:
            cell = self.netlist.cells[index]
            name = self.value_names.get(self._outputs(index)) if isinstance(cell, _nir.FlipFlop) else None
            if name is None or cell.data in self.value_names or cell.data[0].is_const:
                continue
            if cell.data == self._outputs(cell.data[0].cell):
                wire = self.builder.wire(len(cell.data), name=f"{name}_next")
                self.sigport_wires[f"{name}_next"] = (wire, cell.data)
                self.value_names[cell.data] = f"{name}_next"

    def _outputs(self, index: int) -> _nir.Value | None:
        """Outputs of a cell, if that is a register's value or a choice."""
        cell = self.netlist.cells[index]
        if not isinstance(cell, _nir.FlipFlop | _nir.AssignmentList):
            return None
        width = len(cell.data if isinstance(cell, _nir.FlipFlop) else cell.default)
        return _nir.Value(_nir.Net.from_cell(index, bit) for bit in range(width))

    def emit_connects(self) -> None:
        for name, (wire, _) in list(self.sigport_wires.items()):
            if name not in self.driven_sigports and ("$" in name or wire.width == 0):
                del self.sigport_wires[name], self.builder.contents[wire.name]
        super().emit_connects()

    def emit_signal_fields(self) -> None:
        """Fields of a signal are wires of their own: where nobody reads one it is left out later."""
        for signal, name in self.module.signal_names.items():
            for path, field in self.netlist.signal_fields[signal].items():
                if path and all(isinstance(each, str) for each in path) and 0 < len(field.value) < len(signal):
                    wire = self.builder.wire(len(field.value), name=".".join([name, *path]))
                    self.builder.connect(wire.name, self.sigspec(field.value))

    def emit_memory(self, cell_idx: int, cell: _nir.Memory) -> None:
        if self.memories[cell_idx].num_write_ports == 0:
            super().emit_memory(cell_idx, cell)


class _ResetOnly(_Emitter):
    """Writes one module in which nothing has a value at power-on: a table is a choice of constants."""

    def collect_init_attrs(self) -> None:
        """Registers without the attribute ``init`` have no value."""

    def emit_memory(self, cell_idx: int, cell: _nir.Memory) -> None:
        if self.memories[cell_idx].num_write_ports == 0:
            del self.builder.contents[self.memories[cell_idx].memid]

    def emit_read_port(self, cell_idx: int, cell: _nir.SyncReadPort | _nir.AsyncReadPort) -> None:
        if self.memories[cell.memory].num_write_ports:
            super().emit_read_port(cell_idx, cell)
            return
        assert isinstance(cell, _nir.SyncReadPort) and cell.en == _nir.Net.from_const(1)
        table = self.netlist.cells[cell.memory]
        entry = self.builder.wire(cell.width, name=f"{table.name}_entry").name
        choice = self.builder.process().switch(self.sigspec(cell.addr))
        for place, row in enumerate(table.init):
            last = place == len(table.init) - 1
            case = choice.default() if last else choice.case([f"{place:0{len(cell.addr)}b}"])
            case.assign(entry, self.sigspec(_nir.Value.from_const(row, cell.width)))
        ports = {"D": entry, "CLK": self.sigspec(cell.clk), "Q": self.cell_wires[cell_idx].name}
        self.builder.cell("$dff", ports=ports, parameters={"WIDTH": cell.width, "CLK_POLARITY": True})
