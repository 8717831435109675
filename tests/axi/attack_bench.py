"""Attacks runs with resets of all kinds, as a careless host does, each to its end (see `registers_bench`).

Memory goes on all the while, and keeps what it has; its models are reset with the pin, as buses must be, unless
the plan says that they are ``deaf``: then the pin only comes while nothing is under way.
"""

from __future__ import annotations

from typing import Any

import cocotb
from axi_bench import PATIENCE, play_all
from cocotbext.axi import AxiStreamFrame
from registers_bench import IDLE, RESET, START, Board


class Attacked(Board):
    """Runs with ``blows``, each some cycles behind the one before, and whole runs."""

    def memory_reset(self, reset: Any) -> Any:
        return None if self.plan["deaf"] else reset

    async def run(self, run: dict[str, Any]) -> dict[str, Any]:
        if not run["blows"]:
            return await super().run(run)
        self.prepare(run)
        self.broken: list[list[int]] = []
        await self.reset_run(run)
        await self.configure(run)
        await self.start_run(run)
        for wait, blow in run["blows"]:
            await self.cycles(wait)
            await getattr(self, f"{blow}_run")(run)
        await self.reset_run(run)
        told = await self.restarted(run) if run["restarts"] else 0
        await self.rest()
        self.check_drained()
        self.broken.append(self.told("broken"))
        memory = bytes(self.target.contents).hex()
        return {
            "told": told,
            "sinks": self.received(),
            "memory": memory,
            "rules": [each for told in self.broken for each in told],
        }

    async def configure(self, run: dict[str, Any]) -> None:
        """All settings, which the pin clears."""
        await self.settings()
        await self.write("watchdog", run["watchdog"])
        for name, size in (self.plan["limits"] | run["limits"]).items():
            await self.write(f"limit_{name}", size)

    async def rest(self) -> None:
        for _ in range(PATIENCE):
            if (await self.read("status")) & IDLE:
                return
        raise AssertionError("memory is not drained")

    async def start_run(self, run: dict[str, Any]) -> None:
        """A start, whatever is going on."""
        for name, source in self.sources.items():
            source.clear()
            for data, user in self.plan["sources"][name][run["data"]]:
                source.send_nowait(AxiStreamFrame(bytes.fromhex(data), tuser=[user] * (len(data) // 2)))
        await self.write("control", START)

    async def restarted(self, run: dict[str, Any]) -> int:
        """A whole run on the same data, while memory still answers the one before."""
        if self.sinks:
            await self.cycles(4)  # until they have looked at what they took
        for sink in self.sinks.values():
            sink.clear()
        self.target.errors = {}
        await self.start_run(run)
        await self.cycles(4)
        return await self.interrupted(run)

    async def reset_run(self, run: dict[str, Any]) -> None:
        """The reset of the registers."""
        await self.write("control", RESET)

    async def both_run(self, run: dict[str, Any]) -> None:
        """Start and reset in one word."""
        await self.write("control", START | RESET)

    async def pin_run(self, run: dict[str, Any]) -> None:
        """The reset pin, and a host that begins anew."""
        if self.plan["deaf"]:
            await self.reset_run(run)
            await self.rest()
        self.broken.append(self.told("broken"))
        self.dut.rst.value = 1
        if self.plan["bus_period"]:
            self.dut.bus_rst.value = 1
            await self.cycles(8)
        await self.cycles(1 + run["seed"] % 3)
        self.dut.rst.value = 0
        if self.plan["bus_period"]:
            self.dut.bus_rst.value = 0
            await self.cycles(8)
        await self.cycles(1)
        await self.configure(run)


@cocotb.test()
async def play(dut: Any) -> None:
    await play_all(Attacked, dut)
