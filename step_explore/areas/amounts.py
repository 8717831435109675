"""Amounts of what hardware is made of, by name: what areas are sums of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType

LUT_RAM_WORDS, LUT_RAM_BITS = 16, 4
"""Words and bits of a cell of LUT RAM."""

BLOCK_RAM_WORDS, BLOCK_RAM_BITS = 512, 36
"""Words and bits of a block RAM."""

SMALL_TABLE = 8 * 1024
"""Bits up to which synthesis makes a memory of LUTs, however deep it is."""


class Amounts(dict[str, float]):
    """So much of everything; what is not there is none. ``memories`` are those in block RAM, ``lut_rams`` those of
    LUTs: width, depth, how many."""

    def __init__(self, given: Mapping[str, float] = MappingProxyType({})) -> None:
        super().__init__(given)
        self.memories, self.lut_rams = Counter[tuple[int, int]](), Counter[tuple[int, int]]()

    def put(self, name: str, amount: float) -> None:
        """``amount`` more of ``name``."""
        if amount:
            self[name] = self.get(name, 0) + amount

    def one(self, name: str, **parts: float) -> None:
        """One more of ``name``, and amounts of its ``parts``, which are called ``name.part``."""
        self.put(name, 1)
        for part, amount in parts.items():
            self.put(f"{name}.{part}", amount)

    def shallow(self, width: int, depth: int, times: int = 1) -> None:
        """``times`` memories of ``depth`` words of ``width`` bits that are read without a clock.

        One word is a register, two are registers with a multiplexer, more are LUT RAM.
        """
        if width * depth > SMALL_TABLE and depth > 4 * LUT_RAM_WORDS:
            self.deep(width, depth, times)
        elif depth == 2:
            self.put("pair_bits", width * times)
        elif depth > 2:
            self.lut_rams[width, depth] += times
            rows = -(-depth // LUT_RAM_WORDS)
            self.put("lut_ram_cells", -(-width // LUT_RAM_BITS) * rows * times)
            self.put("lut_ram_rows", width * (rows - 1) * times)

    def deep(self, width: int, depth: int, times: int = 1) -> None:
        """``times`` memories of ``depth`` words of ``width`` bits in block RAM."""
        if width and depth:
            self.memories[width, depth] += times
            self.put("block_rams", -(-width // BLOCK_RAM_BITS) * -(-depth // BLOCK_RAM_WORDS) * times)

    def memory(self, width: int, depth: int, *, deep: bool) -> None:
        """One of either."""
        (self.deep if deep else self.shallow)(width, depth)


def total(all_amounts: Iterable[Amounts]) -> Amounts:
    """The sum of ``all_amounts``."""
    found = Amounts()
    for each in all_amounts:
        found.memories += each.memories
        found.lut_rams += each.lut_rams
        for name, amount in each.items():
            found.put(name, amount)
    return found
