"""Constraints of a board: for tools that read SDC, and for Vivado."""

from __future__ import annotations

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
    ports, clocks = {"rst": ("input", 1), **top.ports}, ["clk"]
    clocks += [BUS_CLOCK] if BUS_CLOCK in ports else []
    by_clock: dict[tuple[str, str], list[str]] = {(clock, way): [] for clock in clocks for way in ("input", "output")}
    for name, (way, width) in ports.items():
        if name not in clocks:  # buses, and their reset, may have a clock of their own
            clock = clocks[-1] if name.startswith(("m_axi", "bus_")) else "clk"
            by_clock[clock, way].append(f"{name}[*]" if width > 1 else name)
    delays = [
        (way, clock, "\n".join(wrap(" ".join(names), 118, initial_indent="  ", subsequent_indent="  ")))
        for (clock, way), names in by_clock.items()
        if names
    ]
    crossings = list(permutations(clocks, 2))
    given = {"clocks": clocks, "delays": delays, "crossings": crossings, **_clock_values(mhz)}
    return filled(TEXTS / "board.sdc", name=top.name, **given)


def _clock_values(mhz: float) -> dict[str, str]:
    return {"mhz": f"{mhz:g}", "period": f"{1000 / mhz:.3f}"}


def xdc(name: str, mhz: float, bus: BusConfig) -> str:
    """XDC for Vivado, of the board as a design of its own; as a block of another one the clock comes from there."""
    return filled(TEXTS / "board.xdc", name=name, masters=masters_of(bus), bits=8 * bus.bytes, **_clock_values(mhz))
