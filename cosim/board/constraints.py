"""Constraints of a board: for tools that read SDC, and for Vivado."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from textwrap import wrap
from typing import Any

from cosim.board.tables import masters_of
from hw.verilog.structure import Structure
from step.host.texts import filled
from step.lowering.bus import BusConfig

TEXTS = Path(__file__).parent / "text"


def sdc(top: Structure, megahertz: Sequence[float]) -> str:
    """SDC of the board ``top`` as a design of its own: commands of the standard alone, so ports stand by their names.

    ``megahertz``: of each of its clocks. Pointers between two clocks have the shorter period.
    """
    by_clock: dict[tuple[str, str], list[str]] = {
        (clock, way): [] for clock in top.clocks for way in ("input", "output")
    }
    for name, (way, width) in top.all_ports.items():
        if name not in top.clocks:
            by_clock[top.clock_of(name), way].append(f"{name}[*]" if width > 1 else name)
    delays = [
        (way, clock, "\n".join(wrap(" ".join(names), 118, initial_indent="  ", subsequent_indent="  ")))
        for (clock, way), names in by_clock.items()
        if names
    ]
    return filled(TEXTS / "board.sdc", delays=delays, **_clocks(top, megahertz))


def xdc(top: Structure, megahertz: Sequence[float], bus: BusConfig) -> str:
    """XDC for Vivado, of the board as a design of its own; as a block of another one the clock comes from there."""
    of_buses = [each for each in top.all_ports if each not in top.clocks and top.clock_of(each) != top.names.clock]
    given = {"masters": masters_of(bus), "bits": 8 * bus.bytes, "of_buses": of_buses}
    return filled(TEXTS / "board.xdc", **given, **_clocks(top, megahertz))


def _clocks(top: Structure, megahertz: Sequence[float]) -> dict[str, Any]:
    """Clocks and resets with their frequencies, and how the variables of each begin."""
    names = top.names
    found = list(zip(top.clocks, ("step", "step_bus"), megahertz, strict=False))
    told = [f"{mhz:g} MHz" if len(found) == 1 else f"{clock} {mhz:g} MHz" for clock, _, mhz in found]
    values = {"name": top.name, "clocks": found, "told": ", ".join(told), "names": names}
    return {
        **values,
        "variables": {clock: start for clock, start, _ in found},
        "crossings": permutations(top.clocks, 2),
    }
