"""Constraints of a board: for tools that read SDC, and for Vivado."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from textwrap import wrap

from cosim.board.tables import masters_of
from hw.verilog.structure import Structure
from step.host.texts import filled
from step.lowering.bus import BusConfig

TEXTS = Path(__file__).parent / "text"
BUS_CLOCK = "bus_clk"
"""Of buses that have another clock than the fabric (`own_clock`)."""


def sdc(top: Structure, mhz: float) -> str:
    """SDC of the board ``top`` as a design of its own: commands of the standard alone, so ports stand by their names.

    With a clock of their own (``bus_clk``) the buses have the same period, and pointers between the clocks a period.
    """
    ports = {"rst": ("input", 1), **top.ports}
    clocks = ["clk", *([BUS_CLOCK] if BUS_CLOCK in ports else [])]
    lines = ["", *(f"create_clock -name {each} -period $step_period [get_ports {each}]" for each in clocks)]
    for clock in clocks:
        for way in ("input", "output"):
            names = [
                f"{name}[*]" if width > 1 else name
                for name, (direction, width) in ports.items()
                if direction == way and name not in clocks and _clock(name, clocks) == clock
            ]
            if names:
                lines += ["", f"set_{way}_delay -clock {clock} $step_{way}_delay [get_ports {{"]
                lines += [*wrap(" ".join(names), 118, initial_indent="  ", subsequent_indent="  "), "}]"]
    for one, other in permutations(clocks, 2):
        ends = f"-from [get_clocks {one}] -to [get_clocks {other}]"
        lines += ["", f"set_max_delay $step_period {ends}", f"set_false_path -hold {ends}"]
    return filled(TEXTS / "board.sdc", name=top.name, delays=lines, **_clock_values(mhz))


def _clock(port: str, clocks: Sequence[str]) -> str:
    """The clock of a port: buses, and their reset, may have one of their own."""
    return clocks[-1] if port.startswith(("m_axi", "bus_")) else clocks[0]


def _clock_values(mhz: float) -> dict[str, str]:
    return {"mhz": f"{mhz:g}", "period": f"{1000 / mhz:.3f}"}


def xdc(name: str, mhz: float, bus: BusConfig) -> str:
    """XDC for Vivado, of the board as a design of its own; as a block of another one the clock comes from there."""
    return filled(TEXTS / "board.xdc", name=name, masters=masters_of(bus), bits=8 * bus.bytes, **_clock_values(mhz))
