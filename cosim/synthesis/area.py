"""Cells of an ECP5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cosim.synthesis.cells import Cells


@dataclass(frozen=True)
class Ecp5Area(Cells):
    """Numbers of cells: 4-input LUTs, LUT RAMs (16 words of 4 bits), carry cells (2 bits), flip-flops, multipliers
    (18 x 18) and block RAMs (18 kbit)."""

    lut4: int = 0
    dpr16x4: int = 0
    ccu2c: int = 0
    ff: int = 0
    dsp: int = 0
    block_ram: int = 0

    heads = "LUT4", "DPR16X4", "CCU2C", "FF", "DSP", "BRAM"
    types = tuple({each: 1} for each in ("LUT4", "TRELLIS_DPR16X4", "CCU2C", "TRELLIS_FF", "MULT18X18D", "DP16KD"))

    @property
    def comb_sites(self) -> int:
        """LUT sites as nextpnr counts them: a carry cell takes two, a LUT RAM six (its write port takes two)."""
        return self.lut4 + 2 * self.ccu2c + 6 * self.dpr16x4

    @property
    def columns(self) -> dict[str, int]:
        return {**super().columns, "sites": self.comb_sites}

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "comb_sites": self.comb_sites}
