"""AMD UltraScale+, by Yosys; there is no open place and route of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cosim.synthesis.cells import Cells
from cosim.synthesis.families.family import CellFamily


@dataclass(frozen=True)
class UltraScaleCells(Cells):
    """Numbers of cells: 6-input LUTs, those that are memory (of 64 bits), carries (4 bits), flip-flops, multipliers
    (27 x 18) and block RAMs (18 kbit)."""

    lut: int = 0
    lut_ram: int = 0
    carry4: int = 0
    ff: int = 0
    dsp: int = 0
    block_ram: int = 0

    @property
    def columns(self) -> dict[str, int]:
        return {
            "CARRY4": self.carry4,
            "FF": self.ff,
            "DSP48E2": self.dsp,
            "RAMB18": self.block_ram,
            "LUTRAM": self.lut_ram,
            "LUT": self.lut + self.lut_ram,
        }


class UltraScale(CellFamily[UltraScaleCells]):
    """Area only."""

    name = "xcup"
    nothing = UltraScaleCells()
    title = "on UltraScale+"
    untimed = "there is no open place and route of xcup"

    def prepare(self, top: str) -> str:
        return _commands(top, "begin:map_luts")

    def finish(self, top: str) -> str:
        return _commands(top, "map_luts:edif")

    def read(self, statistics: Mapping[str, Any]) -> UltraScaleCells:
        cells = statistics.get("num_cells_by_type", {})

        def count(numbers: Mapping[str, int]) -> int:
            return sum(number * cells.get(cell, 0) for cell, number in numbers.items())

        return UltraScaleCells(*map(count, (_LUTS, _LUT_RAMS, {"CARRY4": 1}, _REGISTERS, {"DSP48E2": 1}, _BLOCK_RAMS)))


def _commands(top: str, run: str) -> str:
    return f"synth_xilinx -family xcup -noiopad -noclkbuf -flatten -top {top} -run {run}"


_LUTS = {"INV": 1, **{f"LUT{inputs}": 1 for inputs in range(1, 7)}}
_LUT_RAMS = {  # as the library of the vendor has them: LUTs of 64 bits of which they are made
    "RAM32X1S": 1,
    "RAM64X1S": 1,
    "RAM32X1D": 2,
    "RAM64X1D": 2,
    "RAM128X1S": 2,
    "RAM256X1S": 4,
    "RAM128X1D": 4,
    "RAM32M": 4,
    "RAM64M": 4,
    "RAM32M16": 8,
    "RAM64M8": 8,
    "SRL16E": 1,
    "SRLC16E": 1,
    "SRLC32E": 1,
}
_REGISTERS = {cell: 1 for cell in ("FDRE", "FDSE", "FDCE", "FDPE")}
_BLOCK_RAMS = {"RAMB18E2": 1, "RAMB36E2": 2}
