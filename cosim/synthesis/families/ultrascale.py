"""AMD UltraScale+, by Yosys; there is no open place and route of it."""

from __future__ import annotations

from dataclasses import dataclass

from cosim.synthesis.cells import Cells
from cosim.synthesis.families.family import NETLIST, CellFamily

_LUT_RAMS = {
    1: "RAM32X1S RAM64X1S SRL16E SRLC16E SRLC32E",
    2: "RAM32X1D RAM64X1D RAM128X1S",
    4: "RAM256X1S RAM128X1D RAM32M RAM64M",
    8: "RAM32M16 RAM64M8",
}
"""Memories by the LUTs of 64 bits of which they are made, as the library of the vendor has them."""


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

    types = (
        {"INV": 1, **{f"LUT{inputs}": 1 for inputs in range(1, 7)}},
        {each: luts for luts, cells in _LUT_RAMS.items() for each in cells.split()},
        {"CARRY4": 1},
        {cell: 1 for cell in ("FDRE", "FDSE", "FDCE", "FDPE")},
        {"DSP48E2": 1},
        {"RAMB18E2": 1, "RAMB36E2": 2},
    )

    @property
    def columns(self) -> dict[str, int]:
        counted = {"CARRY4": self.carry4, "FF": self.ff, "DSP48E2": self.dsp, "RAMB18": self.block_ram}
        return {**counted, "LUTRAM": self.lut_ram, "LUT": self.lut + self.lut_ram}


class UltraScale(CellFamily[UltraScaleCells]):
    """Area, and levels of logic, which are no clock."""

    name = "xcup"
    nothing = UltraScaleCells()
    title = "on UltraScale+"
    untimed = "there is no open place and route of xcup"
    has_levels = True

    def prepare(self, top: str) -> str:
        return _commands(top, "begin:map_luts")

    def finish(self, top: str) -> str:
        return _commands(top, "map_luts:edif")

    def join(self, top: str) -> str:
        return (
            f"{_commands(top, 'begin:prepare')}; proc; flatten; opt_clean; techmap; {_commands(top, 'map_ffs:edif')}; "
            f"tee -q -o area.json {self.statistics}; write_json {NETLIST}.json"
        )


def _commands(top: str, run: str) -> str:
    return f"synth_xilinx -family xcup -noiopad -noclkbuf -flatten -top {top} -run {run}"
