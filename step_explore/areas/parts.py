"""Parts of a machine that a program takes: an estimate from formulas, of which no tool has placed anything."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from step.lowering.machines import MACHINES
from step.lowering.netlist import Netlist
from step_explore.areas.amounts import Amounts, total
from step_explore.areas.model import ULTRASCALE, amounts, priced

BLOCK_RAM = (36, 1024), (72, 512)
"""Widths and words of a block RAM of 36 kbit."""

ULTRA_RAM = ((72, 4096),)

FULL = 4
"""Block RAMs from which on a memory is an UltraRAM in any case, of which that is half."""


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

    LUTs and DSPs of units and channels are by the coefficients of UltraScale+ (`ULTRASCALE`); what these lack counts
    as on an ECP5, on the safe side. Of LUT RAM eight LUTs are 32 words of 14 bits, or 64 of 7 (AMD UG574). Nothing is
    known of flip-flops.
    """
    machine = MACHINES.get(netlist.fabric.machine or "")
    if machine is None or not machine.parts:
        return []
    found = total(amounts(netlist).values())
    memories = ("lut_ram_cells", "lut_ram_rows", "block_rams")
    area = priced(Amounts({name: each for name, each in found.items() if name not in memories}), ULTRASCALE)
    luts = area.lut_sites + sum(times * _lut_ram(*size) for size, times in found.lut_rams.items())
    blocks, ultra = memories_of(found, area.block_rams / 2, machine.parts)
    taken = {"luts": luts, "dsps": area.multipliers, "block_rams": blocks, "ultra_rams": ultra}
    return [Used(name, round(amount), machine.parts[name]) for name, amount in taken.items()]


def memories_of(found: Amounts, tables: float, there: Mapping[str, int]) -> tuple[float, int]:
    """Block RAMs, with those of ``tables``, and UltraRAMs of all memories.

    Those that fill half of an UltraRAM are such. Of the others as many as block RAMs are missing for, those first that
    save the most, while there are UltraRAMs.
    """
    counts = [(_count(*size, BLOCK_RAM), _count(*size, ULTRA_RAM), times) for size, times in found.memories.items()]
    blocks, ultra = tables + sum(small * times for small, _, times in counts), 0
    for small, large, times in sorted(counts, key=lambda each: each[0] / each[1], reverse=True):
        missing, left = math.ceil((blocks - there["block_rams"]) / small), (there["ultra_rams"] - ultra) // large
        moved = times if small >= FULL * large else max(0, min(times, missing, left))
        blocks, ultra = blocks - moved * small, ultra + moved * large
    return blocks, ultra


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
