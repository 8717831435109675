"""Plays masters and memory that break rules, each from a reset of everything; runs in a simulator (`axi_bench`)."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import cocotb
from axi_bench import Bench, play_all
from cocotb.types import LogicArray

ENOUGH = 1000
"""Cycles in which a rule is broken."""


class Mutants(Bench):
    """Memory that does not mind, and breaks rules of its own: ``memory`` of a run says which."""

    def __init__(self, dut: Any, plan: dict[str, Any]) -> None:
        self.memory = ""
        super().__init__(dut, plan)

    def answering(self, send: Any, name: str) -> Any:
        inner = super().answering(send, name)

        async def answer(each: Any) -> None:
            if self.memory == "id":
                setattr(each, f"{name[0]}id", 1)
            if self.memory == "last" and name == "rresp":
                each.rlast = not each.rlast
            await inner(each)
            if self.memory == "twice" and name == "bresp":
                await inner(each)

        return answer

    def patient(self, process: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            with contextlib.suppress(AssertionError, ValueError):
                await process()

        return run

    def made(self, slave: Any) -> None:
        slave.read_if._process_read = self.patient(slave.read_if._process_read)
        slave.write_if._process_write = self.patient(slave.write_if._process_write)

    async def run(self, run: dict[str, Any]) -> dict[str, Any]:
        dut = self.dut
        self.prepare(run)
        dut.rst.value = 1
        dut.m_axi0_mutant.value = run["mutant"]
        self.memory = run["memory"]
        await self.cycles(8)
        dut.rst.value = 0
        name, address = next(iter(self.plan["images"].items()))
        base = getattr(dut, f"base_{name}")
        base.value = LogicArray("X" * len(base)) if run["memory"] == "unknown" else address
        for _ in range(ENOUGH):
            await self.cycles(1)
            if any(self.told("broken")):
                break
        return {"rules": self.told("broken"), "seen": self.told("seen")}


@cocotb.test()
async def play(dut: Any) -> None:
    await play_all(Mutants, dut)
