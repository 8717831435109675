"""Constraints of a board: for tools that read SDC, and for Vivado."""

from __future__ import annotations

from step.lowering.board import Board

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


def sdc(name: str, mhz: float) -> str:
    """SDC of the board as a design of its own."""
    period = 1000 / mhz
    lines = "\ncreate_clock -name clk -period $step_period [get_ports clk]\n"
    inputs = "[remove_from_collection [all_inputs] [get_ports clk]]"
    return _HEAD.format(name=name, mhz=mhz, period=period) + lines + _DELAYS.format(inputs=inputs) + _RESET


def xdc(name: str, mhz: float, board: Board) -> str:
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
