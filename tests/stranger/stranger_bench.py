"""A host that knows a board by its folder alone, and memory that rests, fails and falls silent; runs in a simulator.

It imports nothing of the project: registers are those of the IP-XACT file of the folder, places and data those of
``data/``, ports those of ``board.json``. Every test ends with a run that is right.
"""

from __future__ import annotations

import json
import logging
import os
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer, with_timeout
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiSlave

FOLDER = Path(os.environ["BOARD_FOLDER"])
BOARD, PLAN = (json.loads((FOLDER / name).read_text()) for name in ("board.json", "data/memory.json"))
PAGE = 4096
DONE, FAULT, WATCHDOG = 1, 2, 4
REGION_FULL, LIST_TOO_SHORT, NO_MOVEMENT = 15, 14, 13
"""Codes of ``docs/errors.md``."""

REQUEST = 16 * BOARD["fabric"]["fabric"]["memory"]["beat_bytes"]
_XML = "{http://www.accellera.org/XMLSchema/IPXACT/1685-2014}"


def _registers() -> dict[str, tuple[int, dict[str, tuple[int, int]]]]:
    """Address, and place and bits of each field, of every register."""
    (path,) = (FOLDER / "registers").glob("*.xml")

    def number(of: Any, name: str) -> int:
        text = of.find(_XML + name).text
        return int(text.removeprefix("'h"), 16) if "'h" in text else int(text)

    return {
        each.find(_XML + "name").text: (
            number(each, "addressOffset"),
            {
                field.find(_XML + "name").text: (number(field, "bitOffset"), number(field, "bitWidth"))
                for field in each.iter(_XML + "field")
            },
        )
        for each in ElementTree.parse(path).iter(_XML + "register")
    }


class Memory:
    """A page of noise, all images, and a page of noise. It answers a burst after ``latency`` cycles, rests in a
    ``share`` of all cycles, and does not answer from beat ``silent_from`` on."""

    def __init__(self, clock: Any) -> None:
        self.clock, self.latency, self.share = clock, 0, 0.0
        self.beats, self.silent_from = 0, None
        self.base = PLAN["base"] - PAGE
        self.fill()

    def fill(self) -> None:
        """The data of the folder, noise where it has none, and wherever the board may write."""
        self.content = bytearray(random.randbytes(PLAN["bytes"] + 2 * PAGE))
        given = (FOLDER / "data/memory.bin").read_bytes()
        for each in PLAN["images"]:
            if each["name"] not in WRITTEN:
                at = each["address"] - PLAN["base"]
                self.content[PAGE + at : PAGE + at + each["data_bytes"]] = given[at : at + each["data_bytes"]]
        self.before = bytes(self.content)

    def place(self, name: str) -> int:
        (at,) = (each["address"] for each in PLAN["images"] if each["name"] == name)
        return at - self.base

    async def _beat(self, address: int, length: int) -> int:
        self.beats += 1
        while self.silent_from is not None and self.beats > self.silent_from:
            await RisingEdge(self.clock)
        at = address - self.base
        if at < 0 or at + length > len(self.content):
            raise ValueError("nothing is there")
        return at

    async def read(self, address: int, length: int, **_: Any) -> bytes:
        at = await self._beat(address, length)
        return bytes(self.content[at : at + length])

    async def write(self, address: int, data: bytes, **_: Any) -> None:
        at = await self._beat(address, len(data))
        self.content[at : at + len(data)] = data

    def pauses(self) -> Iterator[bool]:
        while True:
            yield random.random() < self.share

    def late(self, receive: Any) -> Any:
        """``receive`` of a channel of addresses, so many cycles later."""

        async def received() -> Any:
            found = await receive()
            for _ in range(self.latency):
                await RisingEdge(self.clock)
            return found

        return received

    def check(self, limits: dict[str, int] | None = None, *, whole: bool = True) -> None:
        """Nothing was written but what may be, and after a ``whole`` run that is right."""
        allowed = bytearray(self.before)
        for each in PLAN["images"]:
            if each["name"] in WRITTEN:
                room = each["data_bytes"]
                if "limit" in each["registers"]:
                    room = -(-room // REQUEST) * REQUEST
                room = min(room, (limits or {}).get(each["name"], room))
                at = each["address"] - self.base
                allowed[at : at + room] = self.content[at : at + room]
        places = [at for at, pair in enumerate(zip(allowed, self.content, strict=True)) if pair[0] != pair[1]]
        assert not places, f"written where nobody may: {[hex(self.base + at) for at in places[:8]]}"
        if whole:
            expected, mask = (
                int.from_bytes((FOLDER / f"data/{each}.bin").read_bytes()) for each in ("expected", "mask")
            )
            found = int.from_bytes(self.content[PAGE : PAGE + PLAN["bytes"]])
            assert found & mask == expected & mask, "other results"


WRITTEN = {PLAN["images"][each["image"]]["name"] for each in BOARD["ports"] if each["writes"]}


class Host:
    """Registers by name, and the runs of the program."""

    def __init__(self, dut: Any) -> None:
        self.dut, self.map = dut, _registers()
        self.bus_clock, self.bus_reset = (getattr(dut, "bus_clk", dut.clk), getattr(dut, "bus_rst", dut.rst))
        self.memory = memory = Memory(self.bus_clock)
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
        read, write = self.registers.read_if, self.registers.write_if
        channels = [read.ar_channel, read.r_channel, write.aw_channel, write.w_channel, write.b_channel]
        self.models = list[Any]()
        for number in range(BOARD["bus"]["masters"]):
            bus = AxiBus.from_prefix(dut, f"m_axi{number}")
            slave = AxiSlave(bus, self.bus_clock, target=memory)  # reset by the host alone, not by the pin
            read, write = slave.read_if, slave.write_if
            ends = [read.ar_channel, read.r_channel, write.aw_channel, write.w_channel, write.b_channel]
            self.models += [read, write, *ends]
            channels += ends
            for each in (read.ar_channel, write.aw_channel):
                each.recv = memory.late(each.recv)
        for each in channels:
            each.set_pause_generator(memory.pauses())

    async def cycles(self, count: int) -> None:
        for _ in range(count):
            await RisingEdge(self.dut.clk)

    async def pin(self, *, memory: bool = True) -> None:
        """The pin of the board, and that of its buses, with ``memory`` or without it."""
        self.dut.rst.value = self.bus_reset.value = 1
        for level in (True, False):
            for each in self.models if memory else ():
                each.assert_reset(level)
            await self.cycles(8)
        self.dut.rst.value = self.bus_reset.value = 0
        await self.cycles(4)

    async def read(self, name: str, field: str | None = None) -> int:
        address, fields = self.map[name]
        value = int(await self.registers.read_dword(address))
        if field is None:
            return value
        place, bits = fields[field]
        return value >> place & ((1 << bits) - 1)

    async def readable(self) -> dict[str, int]:
        """The values of all registers that can be read."""
        return {name: await self.read(name) for name in self.map if not name.startswith(("control", "base_", "limit_"))}

    async def write(self, name: str, value: int) -> None:
        await self.registers.write_dword(self.map[name][0], value)

    async def settings(self, limits: dict[str, int] | None = None) -> None:
        """The places of all images, and limits, some others than the plan's."""
        for each in PLAN["images"]:
            values = {"base_low": each["address"] & 0xFFFF_FFFF, "base_high": each["address"] >> 32}
            values["limit"] = (limits or {}).get(each["name"], each["bytes"])
            for kind, address in each["registers"].items():
                await self.registers.write_dword(address, values[kind])

    async def start(self, watchdog: int = 20_000) -> None:
        await self.write("watchdog", watchdog)
        await self.write("interrupt_enable", DONE | FAULT | WATCHDOG)
        assert not await self.pin_at_answer("control", 1), "the interrupt of the last run stays"

    async def pin_at_answer(self, name: str, value: int) -> int:
        """The level of the interrupt in the cycle in which a write is answered."""
        task = cocotb.start_soon(self.write(name, value))
        while True:
            await RisingEdge(self.dut.clk)
            if int(self.dut.s_axil_bvalid.value):
                level = int(self.dut.interrupt.value)
                await task
                return level

    async def ended(self, cycles: int = 400_000) -> int:
        """Which interrupts there are when the pin rises; clears them."""
        if not int(self.dut.interrupt.value):
            await with_timeout(RisingEdge(self.dut.interrupt), 10 * cycles, "ns")
        found = await self.read("interrupt")
        assert not await self.pin_at_answer("interrupt", found), "an interrupt was cleared, and stays"
        return found

    async def reset(self, patience: int = 10_000) -> None:
        """End a run, and wait until memory owes nothing to it."""
        await self.write("control", 2)
        for _ in range(patience):
            if await self.read("status", "idle"):
                return
        raise AssertionError("the reset does not end")

    async def right(self, **more: Any) -> int:
        """A whole run that is right; gives its cycles."""
        self.memory.fill()
        await self.settings()
        await self.start(**more)
        told = await self.ended()
        assert told == DONE, (
            f"interrupts {told}, fault {await self.read('fault'):#x}, status {await self.read('status'):#x}"
        )
        assert (await self.read("status", "done"), await self.read("status", "fault")) == (1, 0)
        self.memory.check()
        return await self.read("cycles_low")


@asynccontextmanager
async def board(dut: Any) -> AsyncIterator[Host]:
    """A host after power-on; a last run is right."""
    logging.getLogger("cocotb").setLevel(logging.ERROR)
    random.seed(1)
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    if hasattr(dut, "bus_clk"):
        cocotb.start_soon(Clock(dut.bus_clk, int(os.environ["BUS_PERIOD"]), unit="ns").start())
    dut.rst.value = 0
    getattr(dut, "bus_rst", dut.rst).value = 0
    await Timer(1, unit="ns")
    host = Host(dut)
    for each in logging.root.manager.loggerDict:
        if each.startswith("cocotb."):
            logging.getLogger(each).setLevel(logging.ERROR)
    await host.pin()
    yield host
    host.memory.latency, host.memory.share, host.memory.silent_from = 0, 0.0, None
    await host.right()


@cocotb.test()
async def stalls(dut: Any) -> None:
    """Memory and registers that rest in any share of the cycles: the same bits, and nothing else is written."""
    async with board(dut) as host:
        cycles = []
        for host.memory.share in (0.0, 0.3, 0.7):
            cycles.append(await host.right())
        assert cycles == sorted(cycles)


@cocotb.test()
async def register_resets(dut: Any) -> None:
    """A reset by register anywhere in a run, while memory lives on: nothing strays, and the next run is right."""
    async with board(dut) as host:
        whole = await host.right()
        for at in range(0, whole + 40, max(1, whole // 5)):
            host.memory.latency, host.memory.share = at % 3 * 20, at % 4 / 5
            host.memory.fill()
            await host.start()
            await host.cycles(at)
            await host.reset()
            host.memory.check(whole=False)
            settled = bytes(host.memory.content)
            await host.cycles(200)
            assert bytes(host.memory.content) == settled, "memory is written after the reset"
            host.memory.latency = 0
            await host.right()


@cocotb.test()
async def pin_resets(dut: Any) -> None:
    """The pin resets board and memory at once, amid bursts; all registers begin anew."""
    async with board(dut) as host:
        new = await host.readable()
        whole = await host.right()
        assert await host.readable() != new
        for at in range(3, whole, whole // 5):
            host.memory.latency = at % 2 * 15
            await host.start()
            await host.cycles(at)
            await host.pin()
            assert await host.readable() == new
            host.memory.latency = 0
            await host.right()


@cocotb.test()
async def pin_after_drain(dut: Any) -> None:
    """The pin without a reset of memory: after the register's, when the board is idle."""
    async with board(dut) as host:
        for at in (20, 90, 200):
            host.memory.latency = 30
            await host.start()
            await host.cycles(at)
            await host.reset()
            await host.pin(memory=False)
            host.memory.latency = 0
            await host.right()


@cocotb.test()
async def silence(dut: Any) -> None:
    """Memory that stops to answer at any beat: the watchdog tells, in time, and once it answers again all is well."""
    async with board(dut) as host:
        await host.right()
        for silent in (0, 1, 9, 40, 90):
            host.memory.fill()
            host.memory.beats, host.memory.silent_from = 0, silent
            await host.start(watchdog=300)
            assert await host.ended(5_000) == WATCHDOG
            assert await host.read("fault", "code") == NO_MOVEMENT
            assert await host.read("status", "memory_waits") == 1
            assert await host.read("status", "busy") == 0
            await host.write("control", 2)
            await host.cycles(500)
            assert await host.read("status", "idle") == 0, "memory owes an answer, and the board is idle"
            assert await host.read("status", "draining") == 1
            host.memory.silent_from = None
            await host.reset()
            host.memory.check(whole=False)
            await host.right()


@cocotb.test()
async def start_in_silence(dut: Any) -> None:
    """A start while memory still owes answers to the last run waits for them, or ends by the watchdog."""
    async with board(dut) as host:
        host.memory.beats, host.memory.silent_from = 0, 5
        await host.settings()
        await host.start(watchdog=200)
        assert await host.ended(5_000) == WATCHDOG
        await host.start(watchdog=200)
        assert await host.ended(5_000) == WATCHDOG
        assert await host.read("status", "memory_waits") == 1
        await host.start(watchdog=0)
        await host.cycles(1_000)
        assert (await host.read("status", "busy"), await host.read("status", "draining")) == (1, 1)
        host.memory.fill()
        host.memory.silent_from = None
        assert await host.ended() == DONE
        host.memory.check()


@cocotb.test()
async def far_memory(dut: Any) -> None:
    """Memory 500 cycles away: a watchdog of less fires, one of more does not, and the bits are the same."""
    async with board(dut) as host:
        near = await host.right()
        host.memory.latency = 500
        assert await host.right(watchdog=700 * max(10, int(os.environ["BUS_PERIOD"])) // 10) > near + 500
        await host.start(watchdog=100)
        assert await host.ended() == WATCHDOG
        assert await host.read("status", "memory_waits") == 1
        await host.reset()
        host.memory.check(whole=False)


@cocotb.test()
async def limits(dut: Any) -> None:
    """Less room than a sink or store needs is a fault that names it; nothing is written behind the limit."""
    async with board(dut) as host:
        units = {each["name"]: each["index"] for each in BOARD["fabric"]["units"]}
        for each in PLAN["images"]:
            if "limit" not in each["registers"]:
                continue
            needed = -(-each["data_bytes"] // REQUEST) * REQUEST
            for room in {0, REQUEST, needed - REQUEST, needed}:
                host.memory.fill()
                small = {each["name"]: room}
                await host.settings(small)
                await host.start()
                told = await host.ended()
                host.memory.check(small, whole=room == needed)
                if room == needed:
                    assert told == DONE, f"{small}: {await host.read('fault'):#x}"
                    continue
                assert told == FAULT, f"{small}: {told}"
                assert await host.read("fault", "code") == REGION_FULL
                unit = each["name"].removesuffix("_values").removesuffix("_list")
                assert await host.read("fault", "unit") == units[unit]
                await host.reset()
                host.memory.check(small, whole=False)


@cocotb.test()
async def lists(dut: Any) -> None:
    """A list whose lengths are of more than it counts is a fault of its source; one that counts more is none."""
    async with board(dut) as host:
        units = {each["name"]: each["index"] for each in BOARD["fabric"]["units"]}
        await host.settings()
        at = host.memory.place("s_list")
        for place, value in ((2, 0x7FFF_FFFF), (3, 5_000), (7, 900), (2, 40)):
            host.memory.fill()
            host.memory.content[at + 4 * place : at + 4 * place + 4] = value.to_bytes(4, "little")
            host.memory.before = bytes(host.memory.content)
            await host.start()
            assert await host.ended() == FAULT
            assert (await host.read("fault", "code"), await host.read("fault", "unit")) == (LIST_TOO_SHORT, units["s"])
            await host.reset()
            host.memory.check({each: PAGE for each in WRITTEN}, whole=False)


@cocotb.test()
async def interrupts(dut: Any) -> None:
    """The pin is a level: up while a bit that is enabled is set, whenever it is enabled."""
    async with board(dut) as host:
        pin = host.dut.interrupt
        await host.settings()

        async def run_without_pin() -> None:
            await host.write("interrupt_enable", FAULT | WATCHDOG)
            await host.write("control", 1)
            while not await host.read("status", "done"):
                assert not int(pin.value)

        await run_without_pin()
        assert await host.read("interrupt") == DONE
        await host.write("interrupt_enable", DONE)
        await host.cycles(3)
        assert int(pin.value)
        await host.write("interrupt", FAULT | WATCHDOG)  # others
        await host.write("interrupt", 0)
        await host.cycles(50)
        assert int(pin.value) and await host.read("interrupt") == DONE
        await host.write("interrupt_enable", 0)
        await host.cycles(3)
        assert not int(pin.value) and await host.read("interrupt") == DONE
        await host.write("interrupt_enable", DONE)
        await host.cycles(3)
        assert int(pin.value)
        assert not await host.pin_at_answer("control", 1)  # the next start clears it
        assert await host.ended() == DONE
        await run_without_pin()
        await host.write("interrupt", DONE)
        assert await host.read("interrupt") == 0
        await host.write("control", 1)
        await host.cycles(30)
        await host.write("control", 1)  # during a run: refused, and the run goes on
        assert await host.read("error", "start_refused") == 1
        await host.write("error", 1)
        assert await host.read("error", "start_refused") == 0
        while not await host.read("status", "done"):
            pass
        assert await host.read("interrupt") == DONE
        host.memory.check()


@cocotb.test()
async def locked_settings(dut: Any) -> None:
    """Bases and limits that are written during a run do not count; those written before it do."""
    async with board(dut) as host:
        for host.memory.latency in (0, 40):
            host.memory.fill()
            await host.settings()
            await host.start()
            await host.cycles(20)
            for each in PLAN["images"]:
                for address in each["registers"].values():
                    await host.registers.write_dword(address, 0x7654_0000)
            assert await host.ended() == DONE
            host.memory.check()


@cocotb.test()
async def queued(dut: Any) -> None:
    """A run in the queue begins by itself a few cycles behind the first one; a fault or a reset takes it away."""
    async with board(dut) as host:
        host.memory.latency = 100  # so that a run is longer than what is written during it
        whole, runs = await host.right(), await host.read("status", "runs")

        async def two(away: int | None = None) -> None:
            host.memory.fill()
            await host.settings()
            if away is not None:
                await host.registers.write_dword(PLAN["images"][0]["registers"]["base_low"], away)
            await host.start()
            await host.settings()
            assert not await host.pin_at_answer("control", 4)
            assert await host.read("status", "queued") == 1
            for each in PLAN["images"]:
                await host.registers.write_dword(each["registers"]["base_low"], 0x7654_0000)  # locked by now

        await two()
        for command in (1, 4):
            await host.write("control", command)
            assert await host.read("error", "start_refused") == 1
            await host.write("error", 1)
        asks = [getattr(dut, f"m_axi{number}_arvalid") for number in range(BOARD["bus"]["masters"])]
        await RisingEdge(dut.interrupt)
        between = 0
        while not any(int(each.value) for each in asks):
            between += 1
            await RisingEdge(dut.clk)
        assert between <= 9, f"{between} cycles between two runs"
        assert await host.ended() == DONE
        while await host.read("status", "runs") != runs + 2:
            pass
        assert await host.ended() == DONE
        host.memory.check()
        assert (await host.read("previous_low"), await host.read("cycles_low")) == (whole, whole)
        await two(away=0x1000)
        assert await host.ended() == FAULT
        assert (await host.read("status", "queued"), await host.read("status", "busy")) == (0, 0)
        await host.reset()
        await two()
        await host.reset()
        assert (await host.read("status", "queued"), await host.read("status", "runs")) == (0, runs + 2)
        host.memory.check(whole=False)


@cocotb.test()
async def error_answers(dut: Any) -> None:
    """An image where nothing is: a fault with port and address, none of the images is touched by others."""
    async with board(dut) as host:
        for number, each in enumerate(PLAN["images"]):
            host.memory.fill()
            await host.settings()
            away = 0x1000 + number * 0x100000
            await host.registers.write_dword(each["registers"]["base_low"], away)
            await host.registers.write_dword(each["registers"]["base_high"], 0)
            await host.start()
            assert await host.ended() == FAULT
            assert await host.read("fault", "code") == 11
            port = BOARD["ports"][await host.read("memory_fault", "port")]
            assert port["image"] == number
            assert away <= await host.read("memory_fault_low") < away + PAGE
            await host.reset()
            host.memory.check(whole=False)
            await host.right()
