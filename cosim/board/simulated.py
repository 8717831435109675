"""A host of a board in simulation: memory and registers by models of cocotbext-axi; runs in the simulator.

It does what comes through a connection (`cosim.board.simulation`): runs follow each other in one simulation.
"""

from __future__ import annotations

import logging
import os
import random
from itertools import count
from multiprocessing.connection import Connection
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiSlave, SparseMemoryRegion

PAGE = 4096


class WrittenPages(SparseMemoryRegion):
    """Pages that were written; others read as zeros. What a bus reads comes ``latency`` cycles later."""

    def __init__(self, clock: Any, latency: int) -> None:
        super().__init__()
        self.clock, self.latency = clock, latency

    async def _read(self, address: int, length: int, **_: Any) -> bytes:
        for _cycle in range(self.latency):
            await RisingEdge(self.clock)
        return bytes(self.mem.read(address, length))

    def written(self, address: int, length: int) -> bytes:
        """Bytes from ``address`` on, up to the last page that was written."""
        ends = [page + PAGE for page in self.mem.segs if address - PAGE < page < address + length]
        return bytes(self.mem.read(address, max(0, min(length, max(ends, default=0) - address))))


class BusModels:
    """Models around a board: the registers' master, the interrupt, and memory."""

    def __init__(self, dut: Any, plan: dict[str, Any]) -> None:
        self.dut, self.memory = dut, WrittenPages(dut.clk, plan["latency"])
        random.seed(plan["seed"])
        for number in range(plan["masters"]):
            slave = AxiSlave(AxiBus.from_prefix(dut, f"m_axi{number}"), dut.clk, dut.rst, target=self.memory)
            read, write = slave.read_if, slave.write_if
            for channel in (read.ar_channel, read.r_channel, write.aw_channel, write.w_channel, write.b_channel):
                if plan["pauses"]:
                    channel.set_pause_generator(random.random() < plan["pauses"] for _ in count())
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)

    async def power_on(self) -> None:
        cocotb.start_soon(Clock(self.dut.clk, 10, unit="ns").start())
        for reset in (1, 0):
            self.dut.rst.value = reset
            for _ in range(4):
                await RisingEdge(self.dut.clk)

    async def do(self, what: str, given: Any) -> Any:
        """One command: ``put`` and ``get`` memory, ``set`` and ``read`` registers, or wait for the ``interrupt``."""
        if what == "put":
            for address, data in given:
                self.memory.mem.write(address, data)
        elif what == "get":
            return [self.memory.written(address, length) for address, length in given]
        elif what == "set":
            for address, value in given:
                await self.registers.write_dword(address, value)
        elif what == "read":
            return [await self.registers.read_dword(address) for address in given]
        elif not self.dut.interrupt.value:
            await RisingEdge(self.dut.interrupt)
        return None


@cocotb.test()
async def serve(dut: Any) -> None:
    """Do what comes until there is no more."""
    with Connection(int(os.environ["STEP_BOARD_CONNECTION"])) as host:
        _, plan = host.recv()
        _quiet()
        board = BusModels(dut, plan)
        _quiet()  # the models made loggers of their own
        await board.power_on()
        host.send(None)
        while (command := host.recv()) is not None:
            host.send(await board.do(*command))


def _quiet() -> None:
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("cocotb"):
            logging.getLogger(name).setLevel(logging.WARNING)
