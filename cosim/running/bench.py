"""The cocotb test that runs a bench: it starts the clock, ends reset, and waits. Runs inside the simulator."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import First, RisingEdge, Timer

PERIOD = 2
REPORT_SECONDS = 0.5


@cocotb.test()
async def run(dut: Any) -> None:
    """Run until the monitor says that the run has ended; how far it is goes to the file ``progress``."""
    directory = Path(os.environ["STEP_RUN_DIRECTORY"])
    dut.reset.value = 1
    dut.clk.value = 0
    Clock(dut.clk, PERIOD, unit="step").start(start_high=False)
    await Timer(3 * PERIOD, unit="step")
    dut.reset.value = 0
    started = time.perf_counter()
    ended = RisingEdge(dut.ended)
    cycle, stretch = 0, 1000
    while True:
        before = time.perf_counter()
        if await First(ended, Timer(stretch * PERIOD, unit="step")) is ended:
            break
        cycle += stretch
        elapsed = time.perf_counter() - before
        stretch = max(1, int(stretch * min(10.0, REPORT_SECONDS / max(elapsed, 1e-6))))
        (directory / "progress").write_text(str(cycle))
    (directory / "bench.json").write_text(json.dumps({"seconds": time.perf_counter() - started}))
