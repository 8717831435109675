"""A component as Amaranth converts it: RTLIL, and its one reader.

Amaranth gives each wire one driver. What a cell, a process or an instance drives stands whole, what is read has a
range; so nothing about who drives a wire has to be guessed.
"""

from __future__ import annotations

import re
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import Fragment, IOBufferInstance, IOPort, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from hw.verilog.circuit import Assignment, Bits, Cell, Chunk, Circuit, Memory, Slice, Step, Switch, Wire
from hw.verilog.modules import flat_ports
from step.errors import FabricError

MOST_PORT_BITS = 65_536
"""Bits of one port, as Amaranth counts them."""
MOST_INPUT_BITS = 65_000
"""Bits of all inputs of a module as Amaranth counts them; those of wider ones come through buffers, one for each."""


def rtlil_of(component: wiring.Component, name: str, platform: Any) -> str:
    """RTLIL of ``component``, whose module is called ``name``; those that are its alone begin so.

    Raises `FabricError` for a port that is too wide.
    """
    values = {port: (Value.cast(value), member.flow is In) for port, member, value in flat_ports(component)}
    for port, (value, _) in values.items():
        if len(value) > MOST_PORT_BITS:
            raise FabricError(
                f"{name} has a port of {len(value):,} bits ({port}), more than {MOST_PORT_BITS:,}: use narrower links"
            )
    if sum(len(value) for value, comes in values.values() if comes) <= MOST_INPUT_BITS:
        return str(rtlil.convert(component, name, platform, emit_src=False))
    fragment, ports = Fragment.get(component, platform), dict[str, Any]()
    for port, (value, comes) in values.items():
        ports[port] = (IOPort(len(value), name=port) if comes else value), None
        if comes:
            fragment.add_subfragment(IOBufferInstance(ports[port][0], i=value))
    return str(rtlil.convert(fragment, name, platform, ports=ports, emit_src=False))


_CHUNK = re.compile(r"\d+'([01x]*)|([\\$]\S+)(?: \[(\d+)(?::(\d+))?\])?")
_ASSIGNED = re.compile(r"(\S+(?: \[\S+\])?) (.*)")


def circuits(text: str) -> list[Circuit]:
    """The modules of RTLIL as Amaranth writes it."""
    found = [_Reader(each).circuit for each in re.split(r"^module ", text, flags=re.MULTILINE)[1:]]
    ways = {each.name: {name: wire.way for name, wire in each.wires.items()} for each in found}
    for each in found:
        for cell in each.cells:
            for port, way in ways.get(cell.kind, {}).items():
                if way == "output" and port in cell.inputs:
                    (driven,) = cell.inputs.pop(port)
                    assert isinstance(driven, Slice) and driven.width == each.wires[driven.wire].width
                    cell.outputs[port] = driven.wire
        each.check()
    return found


class _Reader:
    """Reads one module, line by line."""

    def __init__(self, text: str) -> None:
        first, *lines = text.split("\n")
        self.circuit = Circuit(_plain(first))
        self._attributes, self._lines = dict[str, str](), iter(lines)
        for line in self._lines:
            word, _, rest = line.strip().partition(" ")
            if read := getattr(self, f"_{word}", None):
                read(rest)
                if word != "attribute":
                    self._attributes = {}
        for cell in self.circuit.cells:
            if cell.kind == "memwr_v2":  # nothing follows from a word before it is written
                self.circuit.memories[cell.parameters["MEMID"]].rows = []

    def bits(self, text: str) -> Bits:
        """A value."""
        found = list[Chunk]()
        for constant, wire, high, low in _CHUNK.findall(text):
            if wire:
                name = _plain(wire)
                first = int(low or high or 0)
                found.append(Slice(name, first, int(high) - first + 1 if high else self.circuit.wires[name].width))
            elif constant:
                found.append(constant)
        return tuple(found)

    def _attribute(self, rest: str) -> None:
        name, _, value = rest.partition(" ")
        self._attributes[_plain(name)] = value

    def _wire(self, rest: str) -> None:
        _, width, *port, name = rest.replace(" signed ", " ").split()
        initial = self._attributes.get("init", "").partition("'")[2]
        self.circuit.wires[_plain(name)] = Wire(_plain(name), int(width), port[0] if port else "", initial)

    def _memory(self, rest: str) -> None:
        _, width, _, depth, name = rest.split()
        told = [f"(* {each} = {value} *)" for each, value in sorted(self._attributes.items())]
        memory = Memory(_plain(name), int(width), int(depth), told)
        self.circuit.memories[memory.name] = memory

    def _connect(self, rest: str) -> None:
        name, _, value = rest.partition(" ")
        self.circuit.aliases[_plain(name)] = self.bits(value)

    def _cell(self, rest: str) -> None:
        kind, name = rest.split()
        operator = kind.startswith("$")
        cell = Cell(_plain(kind), _plain(name), is_instance=not operator)
        for line in self._lines:
            word, _, rest = line.strip().partition(" ")
            if word == "end":
                break
            name, _, value = rest.removeprefix("signed ").partition(" ")
            if word == "parameter":
                cell.parameters[_plain(name)] = value.strip('"\\') if name == "\\MEMID" else value
            elif (name in _OUTPUTS.get(kind, ("\\Y", "\\Q"))) if operator else (value[0] in "\\$" and "[" not in value):
                cell.outputs[_plain(name)] = _plain(value)
            else:
                cell.inputs[_plain(name)] = self.bits(value)
        if cell.kind == "meminit_v2":
            (digits,) = cell.inputs["DATA"]
            memory = self.circuit.memories[cell.parameters["MEMID"]]
            assert isinstance(digits, str)
            ends = range(len(digits), 0, -memory.width)
            memory.rows = [digits[end - memory.width : end] for end in ends]
        else:
            self.circuit.cells.append(cell)

    def _process(self, rest: str) -> None:
        steps = list[Step]()
        self._steps(steps)
        assert isinstance(steps[0], Assignment)  # the default, of all bits
        self.circuit.cells.append(Cell("process", _plain(rest), outputs={"Y": steps[0].target.wire}, steps=steps))

    def _steps(self, steps: list[Step], switch: Switch | None = None) -> None:
        """Add ``steps``, or cases of ``switch``, up to where they end."""
        for line in self._lines:
            word, _, rest = line.strip().partition(" ")
            if word == "end":
                return
            if word == "case":
                assert switch is not None
                steps = list[Step]()
                switch.cases.append(([each.partition("'")[2] for each in filter(None, rest.split(", "))], steps))
            elif word == "switch":
                steps.append(inner := Switch(self.bits(rest)))
                self._steps([], inner)
            elif word == "assign":
                target, value = _ASSIGNED.fullmatch(rest).groups()  # type: ignore[union-attr]
                (place,) = self.bits(target)
                assert isinstance(place, Slice)
                steps.append(Assignment(place, self.bits(value)))


_OUTPUTS = {"$memrd_v2": ("\\DATA",), "$memwr_v2": (), "$meminit_v2": ()}


def _plain(name: str) -> str:
    """A name of RTLIL without the sign before it."""
    return name.strip()[1:]
