"""A module as a circuit: wires with one driver each, memories, and cells, whose processes choose between values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


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
