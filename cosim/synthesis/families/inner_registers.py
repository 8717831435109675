"""Registers that multipliers and block RAMs of an ECP5 have inside: those next to them move in, as with the vendor's
mapping.

Yosys leaves them outside, where the wires between are a part of a product's path: 7.6 of 12 ns in a design that fills
half of a device; and a block RAM takes 5.8 ns to read. All is 0 at power-on in both places, but for bits of operands
that are always 1 (first ones of mantissas): these have a register inside, too, which is written with the others.
"""

from __future__ import annotations

from collections.abc import Mapping

from cosim.synthesis.families.choices import move_before_choices
from cosim.synthesis.families.registers import Bit, Cell, Control, Registers, bits_of

RULE = "inner registers, 3"
"""A part of the name of what is kept; it changes with what is done here."""

INPUTS = {"A": ("REG_INPUTA", "CE0"), "B": ("REG_INPUTB", "CE1")}
OUTPUT = "REG_OUTPUT", "CE2"
"""Of the operands of a multiplier and the product: parameters, and the port that enables them."""


def move_registers(module: Cell) -> None:
    """Move those of a ``module`` of Yosys' JSON that have no reset: behind products and words of block RAM, and before
    both operands of a product where other registers are in front of them; else what these hold is computed where they
    are, and its way would be longer. Those behind a choice among words of block RAM move before it, first."""
    move_before_choices(module)
    registers = _InnerRegisters(module)
    multipliers = registers.cells_of("MULT18X18D")
    for cell in multipliers:
        if control := registers.taken_behind(cell, dict(bits_of(cell, "P"))):
            _clock(cell, *OUTPUT, control)
    for cell in registers.cells_of("DP16KD"):
        for port in registers.word_ports(cell):
            if control := registers.taken_behind(cell, port.nets, port.clock):
                port.hold(control.enable)
    for cell in multipliers:
        for side, control in registers.taken_before(cell).items():
            _clock(cell, *INPUTS[side], control)
    registers.remove_unread()


class _InnerRegisters(Registers):
    """Those that cells can take."""

    def taken_behind(self, cell: Cell, outputs: Mapping[str, Bit], clock: Bit | None = None) -> Control | None:
        """The control of the registers that alone read these ``outputs``, with this ``clock``, once they are gone."""
        read = {port: bit for port, bit in outputs.items() if self.readers[bit]}
        names = {port: self.by_input[bit] for port, bit in read.items() if bit in self.by_input}
        controls = {self.control(name) for name in names.values()}
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
        operands = {port: bit for side in INPUTS for port, bit in bits_of(cell, side)}
        names = {port: self.by_output[bit] for port, bit in operands.items() if bit in self.by_output}
        found = {port: self.cells[name]["connections"]["DI"] for port, name in names.items()}
        controls = {(port[0], self.control(name)) for port, name in names.items()}
        are_far = all(source in self.stored for (source,) in found.values())
        if not are_far or len(found) < len(operands) or sorted(side for side, _ in controls) != [*INPUTS]:
            return {}
        for port, source in found.items():
            self.readers[operands[port]] -= 1
            cell["connections"][port] = source
        return dict(controls)

    def remove_unread(self) -> None:
        """Take away what is nowhere read any more."""
        for bit, name in self.by_output.items():
            if not self.readers[bit]:
                del self.cells[name]


def _clock(multiplier: Cell, parameter: str, enable: str, control: Control) -> None:
    """Let a ``multiplier`` have the registers of a ``parameter``."""
    multiplier["parameters"] |= {f"{parameter}_CLK": "CLK0", f"{parameter}_CE": enable}
    multiplier["connections"] |= {"CLK0": [control.clock], enable: [control.enable]}
    multiplier["port_directions"] |= {"CLK0": "input", enable: "input"}
