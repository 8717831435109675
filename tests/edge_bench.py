"""The cocotb test behind `edges`: one step of Python for each clock cycle. Runs inside the simulator.

Inputs change with the falling edge, outputs are read just before the rising edge: no race with any simulator.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import Timer


def willing(pattern: dict[str, Any], rng: random.Random) -> Iterator[bool]:
    """Whether a port is willing, cycle by cycle."""
    while not pattern["busy"]:
        yield True
    while True:
        yield from [True] * rng.randint(1, pattern["busy"])
        yield from [False] * rng.randint(0, pattern["idle"])


class EdgeStream:
    """The signals of an AXI4-Stream; a transfer is one number, with these parts (name and width), the lowest first."""

    def __init__(self, dut: Any, port: str, widths: list[tuple[str, int]]) -> None:
        self.parts = [(getattr(dut, f"{port}_{name}"), width) for name, width in widths]
        self.valid, self.ready = (getattr(dut, f"{port}_{name}") for name in ("tvalid", "tready"))

    def set(self, transfer: int) -> None:
        """Set what is transferred."""
        for signal, width in self.parts:
            signal.value = transfer & ((1 << width) - 1)
            transfer >>= width

    def get(self) -> int:
        """What is transferred."""
        transfer, at = 0, 0
        for signal, width in self.parts:
            transfer |= int(signal.value) << at
            at += width
        return transfer


class EdgeSource:
    """Offers transfers; an offer stands until it is taken."""

    def __init__(self, stream: EdgeStream, transfers: list[str], pattern: dict[str, Any], rng: random.Random) -> None:
        self.stream = stream
        self.transfers = [int(each, 16) for each in transfers]
        self.willing = willing(pattern, rng)
        self.offering = False
        self.cycles: list[int] = []

    def drive(self) -> None:
        """Set the inputs of this cycle."""
        wants = next(self.willing)
        if len(self.cycles) == len(self.transfers):
            self.offering = False
        elif wants:
            self.offering = True
        self.stream.valid.value = int(self.offering)
        self.stream.set(self.transfers[len(self.cycles)] if self.offering else 0)

    def sample(self, cycle: int) -> bool:
        """Whether a transfer is taken in this cycle."""
        if not self.offering or int(self.stream.ready.value) != 1:
            return False
        self.cycles.append(cycle)
        self.offering = False
        return True


class Sink:
    """Takes transfers, and checks the rules of the stream."""

    def __init__(self, stream: EdgeStream, port: str, pattern: dict[str, Any], rng: random.Random) -> None:
        self.port = port
        self.stream = stream
        self.patient = pattern["patient"]
        self.willing = willing(pattern, rng)
        self.is_ready = False
        self.waiting: int | None = None
        self.taken: list[tuple[int, str]] = []
        self.finished = False
        self.violations: list[str] = []

    def drive(self) -> None:
        """Set the inputs of this cycle."""
        self.is_ready = next(self.willing) and (not self.patient or self.waiting is not None)
        self.stream.ready.value = int(self.is_ready)

    def sample(self, cycle: int) -> bool:
        """Whether a transfer is taken in this cycle."""
        valid = int(self.stream.valid.value) == 1
        token = self.stream.get() if valid else None
        if self.waiting is not None and not valid:
            self.violations.append(f"{self.port}: valid fell in cycle {cycle} before the transfer was taken")
        elif self.waiting is not None and token != self.waiting:
            self.violations.append(f"{self.port}: the transfer changed in cycle {cycle} before the transfer was taken")
        if token is not None and self.finished:
            self.violations.append(f"{self.port}: a transfer follows Done in cycle {cycle}")
        self.waiting = None if self.is_ready else token
        if token is None or not self.is_ready:
            return False
        self.taken.append((cycle, hex(token)))
        self.finished = self.finished or bool(token & 1)
        return True


@cocotb.test()
async def run(dut: Any) -> None:
    """Follow the file ``plan.json``; the outcome goes to ``bench.json``."""
    directory = Path(os.environ["STEP_RUN_DIRECTORY"])
    plan = json.loads((directory / "plan.json").read_text())
    rng = random.Random(plan["seed"])
    sources = {
        port: EdgeSource(
            EdgeStream(dut, port, plan["widths"][port]), transfers, plan["idle"], random.Random(rng.random())
        )
        for port, transfers in plan["sources"].items()
    }
    sinks = {
        port: Sink(EdgeStream(dut, port, plan["widths"][port]), port, plan["backpressure"], random.Random(rng.random()))
        for port in plan["sinks"]
    }
    step = Timer(1, unit="step")
    clock, reset = dut.clk, dut.rst
    reset.value = 1
    for source in sources.values():
        source.stream.valid.value = 0
    for sink in sinks.values():
        sink.stream.ready.value = 0
    for level in (0, 1, 0, 1):
        clock.value = level
        await step
    reset.value = 0

    ports: list[EdgeSource | Sink] = [*sources.values(), *sinks.values()]
    status, fault, cycle, moved = "", None, 0, 0
    while not status:
        clock.value = 0
        for port in ports:
            port.drive()
        await step
        fault = _first_fault(int(dut.probe_fault.value)) if plan["faults"] else None
        moves = [port.sample(cycle) for port in ports]
        clock.value = 1
        await step
        cycle += 1
        moved = cycle if any(moves) else moved
        if fault:
            status = "fault"
        elif all(sink.finished for sink in sinks.values()):
            status = "finished"
        elif cycle == plan["max_cycles"]:
            status = "runaway"
        elif cycle - moved == plan["watchdog"]:
            status = "stalled"
    result = {
        "status": status,
        "cycles": cycle,
        "fault": fault,
        "sinks": {port: sink.taken for port, sink in sinks.items()},
        "sources": {port: source.cycles for port, source in sources.items()},
        "violations": [text for sink in sinks.values() for text in sink.violations],
    }
    (directory / "bench.json").write_text(json.dumps(result))


def _first_fault(bits: int) -> tuple[int, int] | None:
    """Unit and code of the first fault in the probe's four bits per unit."""
    if bits == 0:
        return None
    unit = ((bits & -bits).bit_length() - 1) // 4
    return unit, bits >> 4 * unit & 0xF
