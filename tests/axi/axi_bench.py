"""Plays a plan on a wrapped fabric, with models that know nothing of this project (cocotbext-axi); runs in a simulator.

What to do is in the file ``plan`` of the run's directory, what happened goes to ``bench.json`` (see `boards`).
"""

from __future__ import annotations

import json
import logging
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer
from cocotbext.axi import AxiBus, AxiResp, AxiSlave, AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

PATIENCE = 50_000
"""Cycles after which a run hangs."""


class Target:
    """Memory at ``base`` that takes a while, and answers the beats of ``errors`` (counted from the last reset of the
    count, by way) with ``answer``; none while it is ``dead``."""

    def __init__(self, dut: Any, base: int, contents: bytearray) -> None:
        self.dut, self.base, self.contents = dut, base, contents
        self.latency, self.errors, self.counts = 0, dict[str, int](), {"read": 0, "write": 0}
        self.failed: list[int] = []
        self.answer = "SLVERR"
        self.dead = False

    async def _wait(self, way: str, address: int) -> None:
        place = self.counts[way]
        self.counts[way] += 1
        while self.dead:
            await RisingEdge(self.dut.clk)
        for _ in range(random.randrange(self.latency + 1) if self.latency else 0):
            await RisingEdge(self.dut.clk)
        if self.errors.get(way) == place:
            self.failed.append(address)
            raise ValueError("an error was asked for")

    async def read(self, address: int, length: int, **_: Any) -> bytes:
        await self._wait("read", address)
        at = address - self.base
        assert at >= 0 and at + length <= len(self.contents), f"nothing is at {address:#x}"
        return bytes(self.contents[at : at + length])

    async def write(self, address: int, data: bytes, **_: Any) -> None:
        await self._wait("write", address)
        at = address - self.base
        assert at >= 0 and at + len(data) <= len(self.contents), f"nothing is at {address:#x}"
        self.contents[at : at + len(data)] = data


class Pauses:
    """Whether a channel rests in a cycle: as often as ``share`` says, which changes from run to run."""

    def __init__(self) -> None:
        self.share = 0.0

    def __iter__(self) -> Iterator[bool]:
        while True:
            yield random.random() < self.share


class Bench:
    """All models around the wrapper."""

    def __init__(self, dut: Any, plan: dict[str, Any]) -> None:
        self.dut, self.plan, self.pauses = dut, plan, Pauses()
        self.target = Target(dut, plan["base"], bytearray(plan["bytes"]))
        self.sources = {name: self._stream(AxiStreamSource, name) for name in plan["sources"]}
        self.sinks = {name: self._stream(AxiStreamSink, name) for name in plan["sinks"]}
        for number in range(plan["masters"]):
            clock, reset = (dut.bus_clk, dut.bus_rst) if plan["bus_period"] else (dut.clk, dut.rst)
            resets = self.memory_reset(reset)
            slave = AxiSlave(AxiBus.from_prefix(dut, f"m_axi{number}"), clock, resets, target=self.target)
            self.made(slave)
            read, write = slave.read_if, slave.write_if
            for channel in (read.ar_channel, read.r_channel, write.aw_channel, write.w_channel, write.b_channel):
                channel.set_pause_generator(iter(self.pauses))
                channel.log.setLevel(logging.WARNING)
            for side in (read, write):
                side.log.setLevel(logging.ERROR)
            for channel, name in ((read.r_channel, "rresp"), (write.b_channel, "bresp")):
                channel.send = self.answering(channel.send, name)

    def memory_reset(self, reset: Any) -> Any:
        """The signal that resets models of memory, if any."""
        return reset

    def made(self, slave: Any) -> None:
        """Change a model of memory before it begins."""

    def answering(self, send: Any, name: str) -> Any:
        """``send`` of a channel with answers, with the error that is asked for instead of the model's."""

        async def answer(each: Any) -> None:
            if getattr(each, name):
                setattr(each, name, AxiResp[self.target.answer])
            await send(each)

        return answer

    def _stream(self, kind: Any, name: str) -> Any:
        made = kind(AxiStreamBus.from_prefix(self.dut, name), self.dut.clk, self.dut.rst)
        made.log.setLevel(logging.WARNING)
        made.set_pause_generator(iter(self.pauses))
        return made

    async def start(self) -> None:
        """The reset of everything."""
        self.dut.soft_reset.value = 0
        for name, address in self.plan["images"].items():
            getattr(self.dut, f"base_{name}").value = address
        for name, size in self.plan["limits"].items():
            getattr(self.dut, f"limit_{name}").value = size
        await self.power_on()

    async def power_on(self) -> None:
        """Clocks and resets."""
        dut = self.dut
        dut.rst.value = 1
        if self.plan["bus_period"]:
            dut.bus_rst.value = 1
        await Timer(1, unit="ns")  # models see the rise of their reset before a clock
        cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
        if self.plan["bus_period"]:
            cocotb.start_soon(Clock(dut.bus_clk, self.plan["bus_period"], unit="ns").start())
        await self.cycles(8)
        dut.rst.value = 0
        if self.plan["bus_period"]:
            await RisingEdge(dut.bus_clk)
            dut.bus_rst.value = 0
        await self.cycles(4)

    async def cycles(self, count: int) -> None:
        for _ in range(count):
            await RisingEdge(self.dut.clk)

    async def reset(self) -> None:
        """The soft reset, which concerns streams as well; waits for its end."""
        self.dut.soft_reset.value = 1
        for source in self.sources.values():
            source.assert_reset()
            source.clear()
        await self.cycles(1)
        self.dut.soft_reset.value = 0
        await self.cycles(1)
        for _ in range(PATIENCE):
            await self.cycles(1)
            if self.dut.idle.value:
                break
        else:
            raise AssertionError("a reset does not end")
        self.check_drained()
        for source in self.sources.values():
            source.assert_reset(False)
        for sink in self.sinks.values():
            sink.assert_reset()
            sink.assert_reset(False)
            sink.clear()

    async def run(self, run: dict[str, Any]) -> dict[str, Any]:
        """One run, whole or up to a cycle."""
        dut, target = self.dut, self.target
        await self.reset()
        self.prepare(run)
        for name, source in self.sources.items():
            for data, user in self.plan["sources"][name][run["data"]]:
                source.send_nowait(AxiStreamFrame(bytes.fromhex(data), tuser=[user] * (len(data) // 2)))
        for cycle in range(PATIENCE):
            if cycle == run["stop"] or (dut.done.value and self._ended(run["data"])):
                break
            await self.cycles(1)
        else:
            raise AssertionError(f"run {run} hangs")
        fault = {name: int(getattr(dut, name).value) for name in ("memory_fault", "memory_fault_port")}
        fault["memory_fault_address"] = int(dut.memory_fault_address.value)
        memory = bytes(target.contents).hex()
        more = {"failed": target.failed, "beats": target.counts, "rules": self.rules(whole=run["stop"] is None)}
        return {"sinks": self.received(), "cycles": cycle, "memory": memory, **more, **fault}

    def prepare(self, run: dict[str, Any]) -> None:
        """Memory as ``run`` has it at its begin."""
        random.seed(run["seed"])
        target = self.target
        target.contents[:] = bytes.fromhex(self.plan["contents"][run["data"]]).ljust(len(target.contents), b"\xa5")
        target.latency, target.errors, target.failed = run["latency"], run["errors"], []
        target.counts, target.answer = {"read": 0, "write": 0}, run["answer"]
        self.pauses.share = run["pauses"]

    def told(self, name: str) -> list[int]:
        """What the checkers of all buses say."""
        return [int(getattr(self.dut, f"{name}{number}").value) for number in range(self.plan["masters"])]

    def rules(self, *, whole: bool) -> list[int]:
        """The rule that was broken on each bus, 0 for none; after a ``whole`` run something was seen there."""
        assert not whole or all(self.told("seen")), "a checker has seen no burst"
        return self.told("broken")

    def check_drained(self) -> None:
        """Every burst has its answer."""
        assert not any(self.told("owed")), "a burst has no answer"

    def received(self) -> dict[str, Any]:
        """Frames that sinks got, in bytes, with their headers and bytes a transfer."""
        sinks: dict[str, Any] = {}
        for name, sink in self.sinks.items():
            sinks[name] = []
            while not sink.empty():
                frame = sink.recv_nowait()
                width = sink.byte_lanes
                users = [frame.tuser] if isinstance(frame.tuser, int) else frame.tuser
                sinks[name].append([bytes(frame.tdata).hex(), [int(users[at]) for at in (0, -1)], width])
        return sinks

    def _ended(self, data: int) -> bool:
        """Whether every sink has its Done (bit 0 of the header)."""
        return all(sink.count() >= self.plan["frames"][data].get(name, 0) for name, sink in self.sinks.items())


async def play_all(made: type[Bench], dut: Any) -> None:
    """Play the runs of the plan with a bench of its own, and leave what came of them."""
    logging.getLogger("cocotb").setLevel(logging.WARNING)
    directory = Path(os.environ["STEP_RUN_DIRECTORY"])
    plan = json.loads((directory / "plan").read_text())
    bench = made(dut, plan)
    await bench.start()
    played = [await bench.run(run) for run in plan["runs"]]
    (directory / "bench.json").write_text(json.dumps(played))


@cocotb.test()
async def play(dut: Any) -> None:
    await play_all(Bench, dut)
