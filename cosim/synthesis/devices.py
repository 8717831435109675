"""The FPGAs that place and route knows."""

from __future__ import annotations

from dataclasses import dataclass

from cosim.synthesis.area import Ecp5Area

PACKAGE = "CABGA381"
"""All of the devices come in it."""

SPEEDS = ("6", "7", "8")
"""Speed grades, slowest first."""


@dataclass(frozen=True)
class Device:
    """An FPGA: how nextpnr calls it, and what there is of everything."""

    name: str
    comb_sites: int
    dsp: int
    block_ram: int

    @property
    def part(self) -> str:
        """The vendor's name of it."""
        return f"LFE5U-{self.name.upper().removesuffix('K')}F"

    def lacks(self, area: Ecp5Area) -> list[str]:
        """Resources of which ``area`` needs more than there are, in words."""
        needs = (
            ("LUT sites", area.comb_sites, self.comb_sites),
            ("flip-flops", area.ff, self.comb_sites),
            ("DSPs", area.dsp, self.dsp),
            ("block RAMs", area.block_ram, self.block_ram),
        )
        return [f"{needed:,} of {there:,} {what}" for what, needed, there in needs if needed > there]


_DEVICES = (
    Device("12k", 24_288, 28, 56),  # nextpnr places it as what it is inside, a 25k
    Device("25k", 24_288, 28, 56),
    Device("45k", 43_848, 72, 108),
    Device("85k", 83_640, 156, 208),
)
DEVICES = {each.name: each for each in _DEVICES}
