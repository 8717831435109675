"""docs/registers.md: the registers of every board."""

from __future__ import annotations

from step import BF16, Graph
from step.lowering.board import board_of
from step.lowering.bus import BusConfig
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.lowering.registers import IMAGES, Field, registers_of

TITLE = """# Registers

**Which registers does a board have?**

Written by `PYTHONPATH=tests python -m tables` from the code; do not edit. [AXI4 and registers](axi.md#registers) says
how a host uses them. From `0x80` on are the base addresses and limits of images.

| address | register | field | bits | access | |
|---|---|---|---|---|---|"""


def registers_page() -> str:
    graph = Graph("copy")
    graph.load(graph.tensor("x", (64, 64), BF16), tile=(16, 64), name="load").store("y")
    found = registers_of(board_of(lower(graph, FabricConfig()), BusConfig()), "01234567", 2, 1)
    rows = (
        f"| `0x{register.address:02x}` | `{register.name}` | `{each.name}` | {_bits(each)} | {each.access.value} "
        f"| {each.what} |"
        for register in found
        if register.address < IMAGES
        for each in register.fields
    )
    return "\n".join([TITLE, *rows, ""])


def _bits(field: Field) -> str:
    return f"{field.low}" if field.width == 1 else f"{field.low + field.width - 1}:{field.low}"
