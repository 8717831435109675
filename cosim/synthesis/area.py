"""What a netlist takes of an ECP5."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path


@dataclass(frozen=True)
class Area:
    """Numbers of cells: 4-input LUTs, LUT RAMs (16 words of 4 bits), carry cells (2 bits), flip-flops, multipliers
    (18 x 18) and block RAMs (18 kbit)."""

    lut4: int = 0
    dpr16x4: int = 0
    ccu2c: int = 0
    ff: int = 0
    dsp: int = 0
    block_ram: int = 0

    @property
    def comb_sites(self) -> int:
        """LUT sites as nextpnr counts them: a carry cell takes two, a LUT RAM six (its write port takes two)."""
        return self.lut4 + 2 * self.ccu2c + 6 * self.dpr16x4

    def __add__(self, other: Area) -> Area:
        return Area(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(Area)))

    def to_json(self) -> dict[str, int]:
        """Plain data."""
        return {**asdict(self), "comb_sites": self.comb_sites}

    @classmethod
    def of_cells(cls, cells: Mapping[str, int]) -> Area:
        """From the number of cells of each type."""
        return cls(**{field: cells.get(cell, 0) for field, cell in _CELLS.items()})

    @classmethod
    def read(cls, path: Path) -> Area:
        """From what ``stat -json`` of Yosys wrote."""
        return cls.of_cells(json.loads(path.read_text())["design"].get("num_cells_by_type", {}))


_CELLS = {
    "lut4": "LUT4",
    "dpr16x4": "TRELLIS_DPR16X4",
    "ccu2c": "CCU2C",
    "ff": "TRELLIS_FF",
    "dsp": "MULT18X18D",
    "block_ram": "DP16KD",
}
