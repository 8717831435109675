"""Registers that multipliers and block RAMs of an ECP5 have inside: those next to them move in, as with the vendor's
mapping.

Yosys leaves them outside, where the wires between are a part of a product's path: 7.6 of 12 ns in a design that fills
half of a device; and a block RAM takes 5.8 ns to read. All is 0 at power-on in both places, but for bits of operands
that are always 1 (first ones of mantissas): these have a register inside, too, which is written with the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

Cell = dict[str, Any]
Bit = int | str

RULE = "inner registers, 1"
"""A part of the name of what is kept; it changes with what is done here."""

INPUTS = {"A": ("REG_INPUTA", "CE0"), "B": ("REG_INPUTB", "CE1")}
OUTPUT = "REG_OUTPUT", "CE2"
"""Of the operands of a multiplier and the product: parameters, and the port that enables them."""

WIDEST = 36
"""Bits of a word that leave by both ports of a block RAM, with the clock of the second one."""


class Control(NamedTuple):
    """The nets that write a register."""

    clock: Bit
    enable: Bit


def move_registers(module: Cell) -> None:
    """Move those of a ``module`` of Yosys' JSON that have no reset: behind products and words of block RAM, and before
    both operands of a product where other registers are in front of them; else what these hold is computed where they
    are, and its way would be longer."""
    registers = _Registers(module)
    multipliers, memories = ([*registers.cells_of(kind)] for kind in ("MULT18X18D", "DP16KD"))
    for cell in multipliers:
        if control := registers.taken_behind(cell, ["P"]):
            _clock(cell, *OUTPUT, control)
    for cell in memories:
        for sides in ["AB"] if int(cell["parameters"]["DATA_WIDTH_A"], 2) == WIDEST else "AB":
            outputs, clock = [f"DO{side}" for side in sides], cell["connections"][f"CLK{sides[-1]}"][0]
            if control := registers.taken_behind(cell, outputs, clock):
                cell["parameters"] |= {f"REGMODE_{side}": "OUTREG" for side in sides}
                cell["connections"][f"OCE{sides[-1]}"] = [control.enable]
    for cell in multipliers:
        for side, control in registers.taken_before(cell).items():
            _clock(cell, *INPUTS[side], control)
    registers.remove_unread()


class _Registers:
    """The registers of a ``module``, by what they read and what they have; one that has a reset does not move."""

    def __init__(self, module: Cell) -> None:
        self.cells: dict[str, Cell] = module["cells"]
        self.readers = Counter[Bit](bit for port in module["ports"].values() for bit in port["bits"])
        self.readers += Counter(bit for cell in self.cells.values() for bit in _read_by(cell))
        self.stored = {cell["connections"]["Q"][0] for cell in self.cells_of("TRELLIS_FF")}
        plain = [(name, cell["connections"]) for name, cell in self.cells.items() if _is_plain(cell)]
        self.by_input = {wires["DI"][0]: name for name, wires in plain}
        self.by_output = {wires["Q"][0]: name for name, wires in plain}

    def cells_of(self, kind: str) -> Iterator[Cell]:
        """All cells of a ``kind``."""
        return (cell for cell in self.cells.values() if cell["type"] == kind)

    def taken_behind(self, cell: Cell, outputs: list[str], clock: Bit | None = None) -> Control | None:
        """The control of the registers that alone read these ``outputs``, with this ``clock``, once they are gone."""
        read = {port: bit for output in outputs for port, bit in _bits(cell, output) if self.readers[bit]}
        names = {port: self.by_input[bit] for port, bit in read.items() if bit in self.by_input}
        controls = {_control(self.cells[name]) for name in names.values()}
        if len(names) < len(read) or len(controls) != 1 or any(self.readers[bit] > 1 for bit in read.values()):
            return None
        (control,) = controls
        if clock not in (None, control.clock):
            return None
        for port, name in names.items():
            (bit,) = cell["connections"][port] = self.cells.pop(name)["connections"]["Q"]
            del self.by_output[bit]
        return control

    def taken_before(self, cell: Cell) -> dict[str, Control]:
        """The control of the registers before both operands of a multiplier, which no longer reads them."""
        operands = {port: bit for side in INPUTS for port, bit in _bits(cell, side)}
        found = {port: self.cells[self.by_output[bit]] for port, bit in operands.items() if bit in self.by_output}
        controls = {(port[0], _control(register)) for port, register in found.items()}
        are_far = all(register["connections"]["DI"][0] in self.stored for register in found.values())
        if not are_far or len(found) < len(operands) or sorted(side for side, _ in controls) != [*INPUTS]:
            return {}
        for port, register in found.items():
            self.readers[operands[port]] -= 1
            cell["connections"][port] = register["connections"]["DI"]
        return dict(controls)

    def remove_unread(self) -> None:
        """Take away what is nowhere read any more."""
        for bit, name in self.by_output.items():
            if not self.readers[bit]:
                del self.cells[name]


def _bits(cell: Cell, side: str) -> Iterator[tuple[str, Bit]]:
    """Ports of one ``side`` of a cell and their nets, but for constants."""
    for port, bits in cell["connections"].items():
        if port.rstrip("0123456789") == side and bits and isinstance(bits[0], int):
            yield port, bits[0]


def _read_by(cell: Cell) -> Iterator[Bit]:
    return (bits[0] for port, bits in cell["connections"].items() if cell["port_directions"][port] == "input" and bits)


def _is_plain(cell: Cell) -> bool:
    """It is a register with a rising clock and no reset, and 0 at power-on."""
    has = {"GSR": "DISABLED", "CLKMUX": "CLK", "REGSET": "RESET"}
    is_register = cell["type"] == "TRELLIS_FF" and cell["parameters"].items() >= has.items()
    return is_register and cell["parameters"]["CEMUX"] != "INV" and cell["connections"].get("LSR", ["0"])[0] == "0"


def _control(register: Cell) -> Control:
    wires = register["connections"]
    return Control(wires["CLK"][0], wires["CE"][0] if register["parameters"]["CEMUX"] == "CE" else "1")


def _clock(multiplier: Cell, parameter: str, enable: str, control: Control) -> None:
    """Let a ``multiplier`` have the registers of a ``parameter``."""
    multiplier["parameters"] |= {f"{parameter}_CLK": "CLK0", f"{parameter}_CE": enable}
    multiplier["connections"] |= {"CLK0": [control.clock], enable: [control.enable]}
    multiplier["port_directions"] |= {"CLK0": "input", enable: "input"}
