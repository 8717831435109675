"""Levels of logic of a design in cells of UltraScale+: how many are on the longest way from register to register."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from typing import Any

THROUGH = {"FD": None, "RAMB": None, "URAM": None, "SRL": "A", "RAM": "A|DPRA", "DSP": "[ABD]|C$", "": ""}
"""What inputs begin with from which there is a way to the outputs without a clock, as a pattern, by what types of cells
begin with; None: there are none."""

DSP_REGISTERS = "AREG", "BREG", "MREG", "PREG"
"""Parameters of a multiplier that has registers."""

CARRY = "CI"
"""Input of a carry from the one before: a chain of them is one level."""


def levels_of(cells: Mapping[str, Any]) -> int:
    """Levels of ``cells`` of a module, as Yosys writes them as JSON: LUTs, LUT RAMs, multiplexers, chains of carries,
    and multipliers without registers."""
    drivers = {bit: name for name, cell in cells.items() for _, bit in _bits(cell, "output")}
    before: dict[str, dict[str, int]] = {}
    for name, cell in cells.items():
        ways = before[name] = dict[str, int]()
        through = _through(cell)
        for port, bit in _bits(cell, "input") if through is not None else ():
            if bit in drivers and re.match(through or "", port):
                ways[drivers[bit]] = max(ways.get(drivers[bit], 0), int(port != CARRY))
    reached = dict[str, int]()
    for name in TopologicalSorter(before).static_order():
        own = int(_through(cells[name]) is not None)
        reached[name] = max((reached[each] + step for each, step in before[name].items()), default=own)
    return max(reached.values(), default=0)


def _bits(cell: Mapping[str, Any], way: str) -> Iterator[tuple[str, int | str]]:
    """Ports of ``cell`` of this direction, with each bit at them."""
    for port, bits in cell["connections"].items():
        if cell["port_directions"][port] == way:
            yield from ((port, bit) for bit in bits)


def _through(cell: Mapping[str, Any]) -> str | None:
    """The pattern of `THROUGH`; None too for a multiplier with a register."""
    registers = (cell["parameters"].get(each, "0") for each in DSP_REGISTERS)
    if any(int(each, 2) for each in registers if isinstance(each, str)):
        return None
    return next(pattern for kind, pattern in THROUGH.items() if cell["type"].startswith(kind))
