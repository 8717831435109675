"""The registers of a netlist for an ECP5 that may move: those that have no reset, and are 0 at power-on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

Cell = dict[str, Any]
Bit = int | str

WIDEST = 36
"""Bits of a word that leave by both ports of a block RAM, with the clock of the second one."""


class Control(NamedTuple):
    """The nets that write a register."""

    clock: Bit
    enable: Bit


class Registers:
    """Those of a ``module`` of Yosys' JSON, by what they read and what they have."""

    def __init__(self, module: Cell) -> None:
        self.cells: dict[str, Cell] = module["cells"]
        self.readers = Counter[Bit](bit for port in module["ports"].values() for bit in port["bits"])
        self.readers += Counter(bit for cell in self.cells.values() for _, bit in inputs_of(cell))
        self.stored = {cell["connections"]["Q"][0] for cell in self.cells_of("TRELLIS_FF")}
        plain = [(name, cell["connections"]) for name, cell in self.cells.items() if _is_plain(cell)]
        self.by_input = {wires["DI"][0]: name for name, wires in plain}
        self.by_output = {wires["Q"][0]: name for name, wires in plain}

    def cells_of(self, kind: str) -> list[Cell]:
        """All cells of a ``kind``."""
        return [cell for cell in self.cells.values() if cell["type"] == kind]

    def control(self, name: str) -> Control:
        """What writes a register."""
        cell = self.cells[name]
        wires = cell["connections"]
        return Control(wires["CLK"][0], wires["CE"][0] if cell["parameters"]["CEMUX"] == "CE" else "1")

    def word_ports(self, memory: Cell) -> Iterator[WordPort]:
        """Where words of a block RAM leave that is not reset."""
        wide = int(memory["parameters"]["DATA_WIDTH_A"], 2) == WIDEST
        for sides in ["AB"] if wide else "AB":
            words = {port: bit for side in sides for port, bit in bits_of(memory, f"DO{side}")}
            if all(memory["connections"].get(f"RST{side}", ["0"])[0] in ("0", "x") for side in sides):
                yield WordPort(memory, sides, memory["connections"][f"CLK{sides[-1]}"][0], words)


@dataclass(frozen=True)
class WordPort:
    """The sides of a block RAM by which a word leaves, their clock, and its nets by their ports."""

    memory: Cell
    sides: str
    clock: Bit
    nets: Mapping[str, Bit]

    def hold(self, enable: Bit) -> None:
        """Have registers for the word, written with ``enable``."""
        self.memory["parameters"] |= {f"REGMODE_{side}": "OUTREG" for side in self.sides}
        self.memory["connections"][f"OCE{self.sides[-1]}"] = [enable]


def bits_of(cell: Cell, side: str) -> Iterator[tuple[str, Bit]]:
    """Ports of one ``side`` of a cell and their nets, but for constants."""
    for port, bits in cell["connections"].items():
        if port.rstrip("0123456789") == side and bits and isinstance(bits[0], int):
            yield port, bits[0]


def inputs_of(cell: Cell) -> Iterator[tuple[str, Bit]]:
    """Ports that a cell reads, and their nets, of which those of a LUT RAM have several."""
    for port, bits in cell["connections"].items():
        if cell["port_directions"][port] == "input":
            yield from ((port, bit) for bit in bits)


def _is_plain(cell: Cell) -> bool:
    """It is a register with a rising clock and no reset, and 0 at power-on."""
    has = {"GSR": "DISABLED", "CLKMUX": "CLK", "REGSET": "RESET"}
    is_register = cell["type"] == "TRELLIS_FF" and cell["parameters"].items() >= has.items()
    return is_register and cell["parameters"]["CEMUX"] != "INV" and cell["connections"].get("LSR", ["0"])[0] == "0"
