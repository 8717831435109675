"""Parts of a machine that a program takes: an estimate from formulas, of which no tool has placed anything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from step.lowering.machines import MACHINES
from step.lowering.netlist import Netlist
from step_explore.areas.amounts import total
from step_explore.areas.model import amounts, price, priced

BLOCK_RAM = (36, 1024), (72, 512)
"""Widths and words of a block RAM of 36 kbit."""

ULTRA_RAM = ((72, 4096),)

FULL = 4
"""Block RAMs from which on a memory is an UltraRAM, of which that is half."""


@dataclass(frozen=True)
class Used:
    """One kind of ``part``: how much of it a program takes, and how much there is on the machine."""

    part: str
    amount: int
    there: int

    @property
    def share(self) -> float:
        """The share of the part that is used; above 1 it does not fit."""
        return self.amount / self.there


def parts_of(netlist: Netlist) -> list[Used]:
    """Parts of its machine that ``netlist`` takes, kind by kind; empty where it is on none, or on a chip.

    A LUT site of an ECP5 (4 inputs) counts as a LUT, a multiplier (18 x 18) as a DSP, on the safe side of both. Of LUT
    RAM eight LUTs are 32 words of 14 bits, or 64 of 7 (AMD UG574), where an ECP5 has 16 words of 4 bits in six sites.
    Memories are block RAMs, or UltraRAMs where they fill half of one. Nothing is known of flip-flops.
    """
    machine = MACHINES.get(netlist.fabric.machine or "")
    if machine is None or not machine.parts:
        return []
    found = total(amounts(netlist).values())
    area, blocks, ultra = priced(found), 0, 0
    for (width, depth), times in found.memories.items():
        small, large = (_count(width, depth, kind) for kind in (BLOCK_RAM, ULTRA_RAM))
        blocks, ultra = (blocks, ultra + large * times) if small >= FULL * large else (blocks + small * times, ultra)
    luts = area.lut_sites - sum(found.get(name, 0) * price(name)[0] for name in ("lut_ram_cells", "lut_ram_rows"))
    luts += sum(times * _lut_ram(width, depth) for (width, depth), times in found.lut_rams.items())
    tables = area.block_rams - found.get("block_rams", 0) * price("block_rams")[2]
    taken = {"luts": luts, "dsps": area.multipliers, "block_rams": blocks + tables / 2, "ultra_rams": ultra}
    return [Used(name, round(amount), machine.parts[name]) for name, amount in taken.items()]


def _count(width: int, depth: int, kinds: tuple[tuple[int, int], ...]) -> int:
    return min(-(-width // wide) * -(-depth // words) for wide, words in kinds)


def _lut_ram(width: int, depth: int) -> int:
    """LUTs of a memory, with those that choose among several of 64 words."""
    bits, rows = (14, 1) if depth <= 32 else (7, -(-depth // 64))
    return -(-8 * width // bits) * rows + width * (rows - 1)


def doubts(netlist: Netlist, taken: Iterable[Used]) -> list[str]:
    """Parts of which the machine of ``netlist`` has too few, in words, where these are ``taken``."""
    return [
        f"{netlist.graph.name} takes {each.amount:,} {each.part}, but {netlist.fabric.machine} has {each.there:,}"
        for each in taken
        if each.share > 1
    ]
