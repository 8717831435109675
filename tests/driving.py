"""Modules in Amaranth's own simulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Elaboratable
from amaranth.sim import Simulator


def drive(module: Elaboratable, bench: Callable[[Any], Any]) -> None:
    """``module``, with a clock where it has one, until ``bench`` ends."""
    simulator = Simulator(module)
    simulator.add_clock(1e-6, if_exists=True)
    simulator.add_testbench(bench)
    simulator.run()
