"""Constraints of a board: for tools that read SDC, and for Vivado."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from textwrap import wrap

from hw.verilog.structure import Structure
from step.lowering.board import BoardPlan

BUS_CLOCK = "bus_clk"
"""Of buses that have another clock than the fabric (`own_clock`)."""

_HEAD = """\
# Clock of {name}: {mhz:g} MHz. Delays at ports are a share of the period, for logic outside that is registered.
set step_period {period:.3f}
set step_input_delay [expr {{0.3 * $step_period}}]
set step_output_delay [expr {{0.3 * $step_period}}]
"""

_DELAYS = """
set_input_delay -clock clk $step_input_delay {inputs}
set_output_delay -clock clk $step_output_delay [all_outputs]
"""

_RESET = """
# rst is synchronous: it has to meet the clock as other inputs do, so it has no false path. Where it comes from another
# clock, a synchroniser outside has the false path.
"""

_CROSSING = """
# A wrapper with a clock of its own for the buses (own_clock) has asynchronous FIFOs, whose pointers are Gray codes:
# they must not be skewed by more than a period of either clock. With bus_clk as the other clock:
#   set_max_delay -datapath_only -from [get_clocks clk] -to [get_clocks bus_clk] $step_period
#   set_max_delay -datapath_only -from [get_clocks bus_clk] -to [get_clocks clk] $step_period
"""


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
    return _HEAD.format(name=top.name, mhz=mhz, period=1000 / mhz) + "\n".join([*lines, _RESET])


def _clock(port: str, clocks: Sequence[str]) -> str:
    """The clock of a port: buses, and their reset, may have one of their own."""
    return clocks[-1] if port.startswith(("m_axi", "bus_")) else clocks[0]


def xdc(name: str, mhz: float, board: BoardPlan) -> str:
    """XDC for Vivado, of the board as a design of its own; as a block of another one the clock comes from there."""
    period = 1000 / mhz
    lines = "\ncreate_clock -name clk -period $step_period [get_ports clk]\n"
    inputs = '[filter [all_inputs] {NAME != "clk"}]'
    masters = f"\n# {board.bus.masters} AXI4 master{'s' * (board.bus.masters != 1)} of {8 * board.bus.bytes} bits.\n"
    return (
        _HEAD.format(name=name, mhz=mhz, period=period)
        + lines
        + _DELAYS.format(inputs=inputs)
        + _RESET
        + (masters + _CROSSING)
    )
