"""Plays a plan on a board, as a host does: by registers and an interrupt; runs in a simulator (see `axi_bench`)."""

from __future__ import annotations

import itertools
import logging
from typing import Any

import cocotb
from axi_bench import PATIENCE, Bench, play_all
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiStreamBus, AxiStreamFrame

START, RESET = 1, 2
IDLE, BUSY = 2, 4
DONE, FAULT, WATCHDOG = 1, 2, 4
WRITTEN = ("control", "base_", "limit_")
"""Begins of the names of registers that are not read."""


class Board(Bench):
    """A host that knows the map of registers by name."""

    def __init__(self, dut: Any, plan: dict[str, Any]) -> None:
        super().__init__(dut, plan)
        self.axil = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
        read, write = self.axil.read_if, self.axil.write_if
        for each in (read, write):
            each.log.setLevel(logging.WARNING)
        for channel in (read.ar_channel, read.r_channel, write.aw_channel, write.w_channel, write.b_channel):
            channel.log.setLevel(logging.WARNING)
            channel.set_pause_generator(iter(self.pauses))

    def _stream(self, kind: Any, name: str) -> Any:
        made = kind(AxiStreamBus.from_prefix(self.dut, name), self.dut.clk, self.dut.fabric_reset)
        made.log.setLevel(logging.WARNING)
        made.set_pause_generator(iter(self.pauses))
        return made

    async def read(self, name: str) -> int:
        return await self.axil.read_dword(self.plan["registers"][name])

    async def write(self, name: str, value: int) -> None:
        await self.axil.write_dword(self.plan["registers"][name], value)

    async def start(self) -> None:
        await self.power_on()
        await self.settings()

    async def settings(self) -> None:
        """Those of all runs."""
        for name, address in self.plan["images"].items():
            await self.write(f"base_{name}_low", address & 0xFFFF_FFFF)
            await self.write(f"base_{name}_high", address >> 32)
        await self.write("interrupt_enable", DONE | FAULT | WATCHDOG)

    async def interrupted(self, run: dict[str, Any]) -> int:
        """Wait for an interrupt, and clear it."""
        for cycle in range(PATIENCE):
            if self.dut.interrupt.value:
                break
            if cycle == run["stop"]:
                return 0
            await self.cycles(1)
        else:
            raise AssertionError(f"run {run} hangs")
        found = await self.read("interrupt")
        await self.write("interrupt", found)
        assert not self.dut.interrupt.value
        return found

    async def run(self, run: dict[str, Any]) -> dict[str, Any]:
        target = self.target
        for source in self.sources.values():
            source.clear()
        await self.write("watchdog", run["watchdog"])
        for name, size in (self.plan["limits"] | run["limits"]).items():
            await self.write(f"limit_{name}", size)
        self.prepare(run)
        target.dead = run["dead"]
        await self.write("control", START)
        for _ in range(PATIENCE):  # streams are in reset until then
            if (await self.read("status")) & 12 == BUSY:
                break
        else:
            raise AssertionError("a run does not begin")
        for name, sink in self.sinks.items():
            sink.clear()  # a run that failed went on until its reset
            sink.set_pause_generator(itertools.repeat(True) if name == run["unread"] else iter(self.pauses))
        for name, source in self.sources.items():
            frames = self.plan["sources"][name][run["data"]]
            for data, user in frames[: len(frames) - (name == run["without_done"])]:
                source.send_nowait(AxiStreamFrame(bytes.fromhex(data), tuser=[user] * (len(data) // 2)))
        if run["again"]:
            await self.write("control", START)
            for name in self.plan["images"]:
                await self.write(f"base_{name}_low", 0)
        told = await self.interrupted(run)
        if run["again"]:
            await self.settings()  # what was written is that of the next run
        if not told:
            await self.write("control", RESET)
        await self.cycles(8)  # until sinks have looked at what they took
        found = {name: await self.read(name) for name in self.plan["registers"] if not name.startswith(WRITTEN)}
        await self.write("error", 1)
        waits, activities = [], []
        for at in range(max(found["size"] >> 16, found["size"] & 0xFFFF) if told == WATCHDOG else 0):
            await self.write("wait_index", at)
            activities.append(await self.read("wait_unit"))
            waits.append(await self.read("wait_edge"))
        target.dead = False
        if told & FAULT:
            await self.write("control", RESET)  # until then the fabric goes on, and writes to memory
        for _ in range(PATIENCE):
            if (await self.read("status")) & IDLE:
                break
        else:
            raise AssertionError("memory is not drained")
        self.check_drained()
        more = {"told": told, "registers": found, "waits": waits, "activities": activities}
        more |= {"beats": target.counts, "rules": self.told("broken")}
        memory = bytes(target.contents).hex()
        return {"sinks": self.received(), "failed": target.failed, "memory": memory, **more}


@cocotb.test()
async def play(dut: Any) -> None:
    await play_all(Board, dut)
