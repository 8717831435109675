"""A component as Amaranth converts it: RTLIL, and its one reader.

Amaranth gives each wire one driver. What a cell, a process or an instance drives stands whole, what is read has a
range; so nothing about who drives a wire has to be guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import Fragment, IOBufferInstance, IOPort, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

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


@dataclass(frozen=True)
class Slice:
    """``width`` bits of ``wire`` from ``low`` on."""

    wire: str
    low: int
    width: int


Chunk = Slice | str
"""Bits of a wire, or a constant as binary digits."""
Bits = tuple[Chunk, ...]
"""A value: chunks side by side, the highest first."""


def width_of(bits: Bits) -> int:
    """Number of ``bits``."""
    return sum(len(each) if isinstance(each, str) else each.width for each in bits)


def wires_of(bits: Bits) -> set[str]:
    """The wires in ``bits``."""
    return {each.wire for each in bits if isinstance(each, Slice)}


def part_of(bits: Bits, low: int, width: int) -> Bits:
    """``width`` of the ``bits`` from ``low`` on."""
    found, place = list[Chunk](), 0
    for each in reversed(bits):
        size = width_of((each,))
        first, last = max(low - place, 0), min(low + width - place, size)
        if first < last and isinstance(each, Slice):
            found.insert(0, Slice(each.wire, each.low + first, last - first))
        elif first < last and isinstance(each, str):
            found.insert(0, each[size - last : size - first])
        place += size
    return tuple(found)


@dataclass
class Wire:
    """``way`` is ``input`` or ``output`` for a port; ``initial`` the value of a register, in binary."""

    name: str
    width: int
    way: str = ""
    initial: str = ""


@dataclass
class Assignment:
    """A step of a process: ``target`` is ``value``."""

    target: Slice
    value: Bits


@dataclass
class Switch:
    """A step of a process: that of ``cases`` whose pattern, of 0, 1 and -, is the first that ``value`` has; an empty
    one of patterns is the default."""

    value: Bits
    cases: list[tuple[list[str], list[Step]]] = field(default_factory=list)


Step = Assignment | Switch


@dataclass
class Cell:
    """An operator, a register, a port of a memory, a ``process``, or an instance of the module ``kind``.

    ``outputs`` are wires that it drives, by port.
    """

    kind: str
    name: str
    parameters: dict[str, str] = field(default_factory=dict)
    inputs: dict[str, Bits] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    is_instance: bool = False

    @property
    def wire(self) -> str:
        """The one wire that a cell drives that is no instance."""
        return next(iter(self.outputs.values()), "")

    def flag(self, name: str) -> bool:
        """Whether a parameter is there and not 0."""
        return self.parameters.get(name, "0").rpartition("'")[2].strip("0") != ""

    def reads(self) -> Iterator[tuple[str, Bits]]:
        """All that the cell reads, by port; steps have none."""
        yield from self.inputs.items()
        yield from (("", bits) for bits in _read(self.steps))


def _read(steps: list[Step]) -> Iterator[Bits]:
    for step in steps:
        yield step.value
        if isinstance(step, Switch):
            for _, inside in step.cases:
                yield from _read(inside)


@dataclass
class Memory:
    """``attributes`` are Verilog; ``rows`` its contents in binary, none for what is written."""

    name: str
    width: int
    depth: int
    attributes: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)


@dataclass
class Circuit:
    """A module. ``aliases`` are other names of what is driven, among them output ports."""

    name: str
    wires: dict[str, Wire] = field(default_factory=dict)
    memories: dict[str, Memory] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)
    aliases: dict[str, Bits] = field(default_factory=dict)

    def wire(self, width: int) -> str:
        """Add a wire without a name; returns what it is called."""
        name = str(len(self.wires) + len(self.cells))
        while name in self.wires:
            name += "0"
        self.wires[name] = Wire(name, width)
        return name

    def check(self) -> None:
        """Raise AssertionError where a wire has no driver, or several."""
        drivers = [each for cell in self.cells for each in cell.outputs.values()]
        drivers += [*self.aliases, *(name for name, wire in self.wires.items() if wire.way == "input")]
        assert sorted(drivers) == sorted(self.wires), (
            f"{self.name}: {sorted({*drivers} ^ {*self.wires}) or 'some wires'} without one driver"
        )


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
