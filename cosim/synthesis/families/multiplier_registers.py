"""Registers next to multipliers of an ECP5, moved into them, as the vendor's mapping does.

Yosys leaves them outside, where the wires between are a part of the product's path: 7.6 of 12 ns in a design that fills
half of a device. All is 0 at power-on in both places, but for bits of operands that are always 1 (first ones of
mantissas): these have a register inside, too, which is written with the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

RULE = "registers in multipliers, 2"
"""A part of the name of what is kept; it changes with what is done here."""

SIDES = {"A": ("REG_INPUTA", "CE0"), "B": ("REG_INPUTB", "CE1"), "P": ("REG_OUTPUT", "CE2")}
"""Of each operand and the product: its parameters, and the port that enables it."""


def move_registers(module: dict[str, Any]) -> None:
    """Move those of a ``module`` of Yosys' JSON that have no reset: behind the product, and before both operands where
    other registers are in front of them; else what these hold is computed where they are, and its way would be longer.
    """
    cells: dict[str, dict[str, Any]] = module["cells"]
    readers = Counter(bit for port in module["ports"].values() for bit in port["bits"])
    readers += Counter(bit for cell in cells.values() for bit in _read_by(cell))
    registers = {name: cell for name, cell in cells.items() if cell["type"] == "TRELLIS_FF" and _is_plain(cell)}
    by_input = {cell["connections"]["DI"][0]: name for name, cell in registers.items()}
    by_output = {cell["connections"]["Q"][0]: name for name, cell in registers.items()}
    stored = {cell["connections"]["Q"][0] for cell in cells.values() if cell["type"] == "TRELLIS_FF"}
    multipliers = [cell for cell in cells.values() if cell["type"] == "MULT18X18D"]
    for cell in multipliers:
        product = {port: bit for port, bit in _bits(cell, "P") if readers[bit]}
        behind = {port: by_input[bit] for port, bit in product.items() if bit in by_input and readers[bit] == 1}
        if len(behind) == len(product) and _are_alike(registers[name] for name in behind.values()):
            for port, name in behind.items():
                cell["connections"][port] = cells.pop(name)["connections"]["Q"]
                del by_output[cell["connections"][port][0]]
            _clock(cell, "P", registers[name])
    for cell in multipliers:
        operands = {port: bit for side in "AB" for port, bit in _bits(cell, side)}
        before = {port: registers[by_output[bit]] for port, bit in operands.items() if bit in by_output}
        sides = [[each for port, each in before.items() if port[0] == side] for side in "AB"]
        are_far = all(each["connections"]["DI"][0] in stored for each in before.values())
        if are_far and len(before) == len(operands) and all(map(_are_alike, sides)):
            for port, register in before.items():
                readers[operands[port]] -= 1
                cell["connections"][port] = register["connections"]["DI"]
                _clock(cell, port[0], register)
    for bit, name in by_output.items():
        if not readers[bit]:
            del cells[name]


def _bits(cell: dict[str, Any], side: str) -> list[tuple[str, int]]:
    """Ports of one ``side`` of a multiplier and their nets, but for constants."""
    found = ((port, bits[0]) for port, bits in cell["connections"].items() if port[0] == side and port[1:].isdigit())
    return [(port, bit) for port, bit in found if isinstance(bit, int)]


def _read_by(cell: dict[str, Any]) -> Iterable[int | str]:
    return (bits[0] for port, bits in cell["connections"].items() if cell["port_directions"][port] == "input" and bits)


def _is_plain(register: dict[str, Any]) -> bool:
    """It has a rising clock, no reset, and is 0 at power-on."""
    has = {"GSR": "DISABLED", "CLKMUX": "CLK", "REGSET": "RESET"}
    reset = register["connections"].get("LSR", ["0"])[0]
    return register["parameters"].items() >= has.items() and register["parameters"]["CEMUX"] != "INV" and reset == "0"


def _are_alike(registers: Iterable[dict[str, Any]]) -> bool:
    """There are some, with one clock and one enable for all of them."""
    return len(set(map(_control, registers))) == 1


def _control(register: dict[str, Any]) -> tuple[int, int | str]:
    wires = register["connections"]
    return wires["CLK"][0], wires["CE"][0] if register["parameters"]["CEMUX"] == "CE" else "1"


def _clock(cell: dict[str, Any], side: str, register: dict[str, Any]) -> None:
    """Give a multiplier the registers of a ``side``, controlled as ``register``."""
    (parameter, enable), (clock, on) = SIDES[side], _control(register)
    cell["parameters"] |= {f"{parameter}_CLK": "CLK0", f"{parameter}_CE": enable}
    cell["connections"] |= {"CLK0": [clock], enable: [on]}
    cell["port_directions"] |= {"CLK0": "input", enable: "input"}
