"""Ways to boards, each against a stand-in with the calls of what it is for, and what they refuse."""

from __future__ import annotations

import mmap
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import threading
import time
import tty
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cases import cases
from raising import raising

pytest.importorskip("peakrdl_regblock", reason="needs PeakRDL: pip install 'step-fabric[board]'")

from board_hosts import Memory, written
from board_programs import data, moved
from c_library import COMPILER

from cosim.board.folder import Folder

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
PLACE = 0x4_0000_0000
"""Where runtimes put their buffers."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Folder, ModuleType]:
    return written(moved(), tmp_path_factory.mktemp("board"))


def expected(made: tuple[Path, Folder, ModuleType]) -> bytes:
    return (made[0] / "data" / "expected.bin").read_bytes()


class Caches(np.ndarray):
    """A buffer of PYNQ: the processor's view of memory, which ``memory`` has only when it is flushed."""

    memory: np.ndarray
    device_address = PLACE

    def __array_finalize__(self, other: Any) -> None:
        if hasattr(other, "memory"):
            begin = (self.ctypes.data - other.ctypes.data) // self.itemsize
            self.memory = other.memory[begin : begin + len(self)]

    def flush(self) -> None:
        self.memory[:] = self

    def invalidate(self) -> None:
        self[:] = self.memory


class Bo:
    """``pyxrt.bo``: ``host`` and ``device`` memory, which ``sync`` copies."""

    flags = SimpleNamespace(normal=0)
    last: Bo

    def __init__(self, device: object, size: int, flags: int, group: int) -> None:
        if group == 9:
            raise RuntimeError("no such bank")
        self.host, self.device = (np.zeros(size, np.uint8) for _ in range(2))
        Bo.last = self

    def address(self) -> int:
        return PLACE

    def write(self, data: bytes, seek: int) -> None:
        self.host[seek : seek + len(data)] = np.frombuffer(data, np.uint8)

    def sync(self, direction: str, size: int, offset: int) -> None:
        part = slice(offset, offset + size)
        if direction == "to":
            self.device[part] = self.host[part]
        else:
            self.host[part] = self.device[part]

    def map(self) -> memoryview:
        return memoryview(self.host)


XRT = SimpleNamespace(
    bo=Bo, xclBOSyncDirection=SimpleNamespace(XCL_BO_SYNC_BO_TO_DEVICE="to", XCL_BO_SYNC_BO_FROM_DEVICE="from")
)


class Block:
    """Registers of a board that ends at once: ``device`` gets what is expected. Only 32-bit integers are taken."""

    def __init__(self, made: tuple[Path, Folder, ModuleType], device: Callable[[], Any]) -> None:
        self.memory, self.device, self.left = Memory(made[1]), device, expected(made)

    def read(self, offset: int) -> int:
        return self.memory.read32(offset)

    def write(self, offset: int, value: int) -> None:
        assert type(value) is int and 0 <= value < 1 << 32
        self.memory.write32(offset, value)
        if (offset, value) == (self.memory.registers["control"], 1):
            self.device()[: len(self.left)] = np.frombuffer(self.left, np.uint8)

    read_register, write_register = read, write


def pynq(made: tuple[Path, Folder, ModuleType], patch: pytest.MonkeyPatch, directory: Path) -> Any:
    buffers = []

    def allocate(shape: tuple[int], dtype: type) -> Caches:
        buffers.append(np.zeros(shape, dtype).view(Caches))
        buffers[-1].memory = np.zeros(shape, dtype)
        return buffers[-1]

    return made[2].Pynq(Block(made, lambda: buffers[0].memory), allocate)


def xrt(made: tuple[Path, Folder, ModuleType], patch: pytest.MonkeyPatch, directory: Path) -> Any:
    patch.setitem(sys.modules, "pyxrt", XRT)  # type: ignore[arg-type]
    return made[2].Xrt(object(), Block(made, lambda: Bo.last.device))


class Ioctl:
    """The kernel's side of LitePCIe: registers at 0xf0000000, and memory behind."""

    def __init__(self, made: tuple[Path, Folder, ModuleType]) -> None:
        self.memory = np.zeros(made[1].places[-1].end - made[1].places[0].address, np.uint8)
        self.block, self.base = Block(made, lambda: self.memory), made[1].places[0].address

    def ioctl(self, file: int, request: int, moved: bytearray) -> None:
        assert request == 0xC00C_5300 and len(moved) == 12  # _IOWR('S', 0, struct litepcie_ioctl_reg)
        address, value, write = struct.unpack("<IIB3x", moved)
        words = self.memory.view("<u4")
        if address >= 0xF000_0000:
            offset = address - 0xF000_0000
            self.block.write(offset, value) if write else struct.pack_into("<I", moved, 4, self.block.read(offset))
        elif write:
            words[(address - self.base) // 4] = value
        else:
            struct.pack_into("<I", moved, 4, int(words[(address - self.base) // 4]))


def litepcie(made: tuple[Path, Folder, ModuleType], patch: pytest.MonkeyPatch, directory: Path) -> Any:
    patch.setattr(made[2].pcie, "fcntl", Ioctl(made))
    return made[2].LitePcie("/dev/null", registers=0xF000_0000)


def answering(made: tuple[Path, Folder, ModuleType], registers: Path, memory: Path, offset: int) -> None:
    """Files of registers and memory, and a thread that is the board behind them for one run."""
    words, block = np.zeros(1024, "<u4"), Memory(made[1])
    for at, value in {**block.words, block.registers["status"]: 2}.items():
        words[at // 4] = value
    registers.write_bytes(words.tobytes())
    left = expected(made)
    memory.touch()
    os.truncate(memory, offset + 2 * len(left))

    def run() -> None:
        with registers.open("r+b") as file:
            there = np.frombuffer(mmap.mmap(file.fileno(), 4096), "<u4")
        while there[block.registers["control"] // 4] != 1:
            time.sleep(0.001)
        with memory.open("r+b") as file:
            file.seek(offset)
            file.write(left)
        there[block.registers["status"] // 4] = 1 << 16 | 1

    threading.Thread(target=run, daemon=True).start()


def files(made: tuple[Path, Folder, ModuleType], patch: pytest.MonkeyPatch, directory: Path) -> Any:
    answering(made, directory / "uio0", directory / "mem", 0)
    return made[2].MappedFiles(str(directory / "uio0"), str(directory / "mem"), memory_offset=0)


def buffer(made: tuple[Path, Folder, ModuleType], patch: pytest.MonkeyPatch, directory: Path) -> Any:
    answering(made, directory / "uio0", directory / "udmabuf0", 0)
    (directory / "udmabuf0.d" / "udmabuf0").mkdir(parents=True)
    size = (directory / "udmabuf0").stat().st_size
    told = {"phys_addr": f"{PLACE:#x}\n", "size": f"{size}\n", "sync_mode": "1\n", "dma_coherent": "0\n"}
    for name, text in told.items():
        (directory / "udmabuf0.d" / "udmabuf0" / name).write_text(text)
    where = {"devices": str(directory), "system": str(directory / "udmabuf0.d")}
    return made[2].DmaBuffer(str(directory / "uio0"), **where)


def xdma(made: tuple[Path, Folder, ModuleType], patch: pytest.MonkeyPatch, directory: Path) -> Any:
    card = directory / "xdma0"
    answering(made, Path(f"{card}_user"), Path(f"{card}_h2c_0"), made[1].places[0].address)
    os.link(f"{card}_h2c_0", f"{card}_c2h_0")
    os.mkfifo(f"{card}_events_3")
    writer = os.open(f"{card}_events_3", os.O_RDWR)
    os.write(writer, bytes(4))  # an interrupt of before
    return made[2].Xdma(str(card), interrupt=3)


@cases(files, buffer, xdma, litepcie, pynq, xrt)
def test_a_run_by_every_way(
    way: Callable[..., Any], made: tuple[Path, Folder, ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """All of it: images where the transport has them, the run, and what is left."""
    transport = way(made, monkeypatch, tmp_path)
    if transport.interrupts:
        monkeypatch.setattr(made[2].mapped, "PATIENCE", 0.01)
    board = made[2].Driver(transport)
    board.check()
    base = made[1].places[0].address if way in (files, xdma, litepcie) else PLACE
    assert board._buffers[0].address == base
    where = {each.name: each.address - made[1].places[0].address for each in made[1].places}
    registers = {name: at for name, at in made[1].tables.addresses.items() if name in ("base_y_low", "base_y_high")}
    if way in (pynq, xrt):
        block = transport._block if way is pynq else transport._kernel
        found = [block.memory.words[registers[name]] for name in ("base_y_low", "base_y_high")]
        assert found == [(base + where["y"]) & 0xFFFF_FFFF, base + where["y"] >> 32]
        assert list(board.run(data(0))) == ["y", "t"]
    if way in (xdma, litepcie):
        with raising(made[2].BoardError, f"{type(transport).__name__} does not map memory, so outputs have no views"):
            transport.view(base, 64)
    else:
        wanted = expected(made)[where["y"] : where["y"] + 256]
        assert transport.view(base + where["y"], 256).tobytes() == wanted


@pytest.fixture
def terminal() -> Iterator[tuple[int, str]]:
    """A device of characters: one end, and the name of the other."""
    one, other = pty.openpty()
    tty.setraw(other)
    yield one, os.ttyname(other)
    os.close(one)
    os.close(other)


def test_an_interrupt_of_uio(
    terminal: tuple[int, str], made: tuple[Path, Folder, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is enabled, as the kernel disables it each time, and read."""
    end, name = terminal
    events, enabled = made[2].mapped.Events(name, (1).to_bytes(4, "little")), list[bytes]()

    def kernel() -> None:
        for count in range(2):
            enabled.append(os.read(end, 4))
            os.write(end, count.to_bytes(4, "little"))

    thread = threading.Thread(target=kernel, daemon=True)
    thread.start()
    begin = time.monotonic()
    events.wait()
    events.wait()
    thread.join(60)
    assert enabled == [b"\1\0\0\0"] * 2 and time.monotonic() - begin < 60
    monkeypatch.setattr(made[2].mapped, "PATIENCE", 0.001)
    events.wait()  # there is none


def test_interrupts_are_enabled_where_somebody_waits_for_them(
    made: tuple[Path, Folder, ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _, folder, host = made
    opened = []
    monkeypatch.setattr(host.mapped, "Events", lambda *given: opened.append(given) or SimpleNamespace(wait=print))
    (tmp_path / "uio0").write_bytes(bytes(4096))
    (tmp_path / "mem").write_bytes(bytes(1 << 20))
    names = str(tmp_path / "uio0"), str(tmp_path / "mem")
    assert not host.MappedFiles(*names, memory_offset=0).interrupts and opened == []
    assert host.MappedFiles(*names, memory_offset=0, interrupt=True).interrupts
    assert opened == [(names[0], b"\1\0\0\0")]
    for wants in (False, True):
        memory = Memory(folder)
        memory.interrupts = wants
        host.Driver(memory)
        assert memory.words.get(memory.registers["interrupt_enable"], 0) == 7 * wants


class Refusals:
    """What is asked of hosts that they refuse."""

    def __init__(self, made: tuple[Path, Folder, ModuleType], directory: Path, patch: pytest.MonkeyPatch) -> None:
        _, self.folder, self.host = made
        self.base, self.size = self.folder.places[0].address, self.folder.places[-1].end - self.folder.places[0].address
        self.patch, self.made, self.directory = patch, made, directory
        for name, size in (("regs", 4096), ("mem", self.size), ("short", 8), ("empty", 0)):
            (directory / name).write_bytes(bytes(size))
        os.symlink("mem", directory / "x_h2c_0")
        os.symlink("empty", directory / "x_c2h_0")
        os.symlink("regs", directory / "x_user")
        os.symlink("regs", directory / "y_user")

    def at(self, name: str) -> str:
        return str(self.directory / name)

    def board(self, **changes: Any) -> Any:
        memory = Memory(self.folder)
        for name, each in changes.items():
            setattr(memory, name, each)
        return self.host.Driver(memory)

    def run(self, **changes: Any) -> Any:
        return self.board().run({name: each for name, each in {**data(0), **changes}.items() if each is not None})

    def faulty(self, code: int, **registers: int) -> Any:
        memory = Memory(self.folder)
        run = self.host.Driver(memory).start(data(0))
        memory.status(16)
        values = {"fault": code, **registers}
        memory.words |= {memory.registers[name]: value for name, value in values.items()}
        return run.wait()

    def mapped(self, registers: str = "regs", memory: str = "mem", **where: Any) -> Any:
        return self.host.MappedFiles(self.at(registers), self.at(memory), **{"memory_offset": 0, **where})

    def buffer(self, address: str = "0x1000", **told: int) -> Any:
        (self.directory / "udmabuf0").mkdir()
        (self.directory / "udmabuf0" / "phys_addr").write_text(address)
        for name, value in told.items():
            (self.directory / "udmabuf0" / name).write_text(f"{value}\n")
        return self.host.DmaBuffer(self.at("regs"), devices=self.at("."), system=self.at("."))

    def lite(self, device: str = "/dev/null") -> Any:
        return self.host.LitePcie(device, registers=0)

    def xrt(self, **options: int) -> Any:
        self.patch.setitem(sys.modules, "pyxrt", XRT)  # type: ignore[arg-type]
        return self.host.Xrt(object(), SimpleNamespace(), **options)

    def without(self, name: str, content: bytes | None = None, compiler: str | None = None) -> Any:
        """With this content of a file of the folder, or without the file."""
        shutil.copytree(self.made[0], self.directory / "board")
        self.patch.setattr(self.host.folder, "FOLDER", self.directory / "board")
        if compiler is not None:
            self.patch.setenv("CC", compiler)
        if content is None:
            (self.directory / "board" / name).unlink()
        else:
            (self.directory / "board" / name).write_bytes(content)
        self.board().check()

    def two(self) -> Any:
        memory = Memory(self.folder)
        board = self.host.Driver(memory)
        board.start(data(0))
        return board


def hold(at: Refusals, name: str, given: Any = 0) -> Any:
    return at.board().hold(name, given)


def held(at: Refusals, given: Any) -> Any:
    board = at.board()
    first = board.hold("x", data(0)["x"])
    board.hold("x", data(1)["x"])
    return board.run({**data(0), "x": first if given is None else given})


def no_pyxrt(at: Refusals) -> Any:
    at.patch.setitem(sys.modules, "pyxrt", None)
    return at.host.Xrt(object(), object())


def stuck(at: Refusals) -> None:
    """An engine that takes a line, and then nothing more."""
    card = at.host.Xdma(at.at("x"))
    taken = iter([64, 0])
    at.patch.setattr(at.host.pcie.os, "pwrite", lambda *_: next(taken))
    card.write(0x40, bytes(128))


WHERE = "are not in the memory that is mapped: {size:,} bytes from {base:#x} on"


@cases(
    # arguments of a board
    (lambda at: at.host.Driver(Memory(at.folder), base=-4096),
     "base must be an address, an integer of 64 bits, not -4096"),
    (lambda at: at.host.Driver(Memory(at.folder), base=1 << 64),
     "base must be an address, an integer of 64 bits, not 18446744073709551616"),
    (lambda at: at.host.Driver(Memory(at.folder), base="0x1000"),
     "base must be an address, an integer of 64 bits, not '0x1000'"),
    (lambda at: at.host.Driver(Memory(at.folder), base=0x1001), "base 0x1001: it must be a multiple of 64"),
    (lambda at: at.host.Driver(Memory(at.folder), base=0xFF_FFFF_F000),
     "s_values at 0x10000000000: too little room, or beyond the address space"),
    (lambda at: at.host.Driver("/dev/mem"),
     "a str has no interrupts, read, read32, reserve, view, wait, write, write32: "
     "make it a host.Transport"),
    # files of the folder
    (lambda at: at.without("board.json"), "board.json of the folder can not be read: No such file or directory"),
    (lambda at: at.without("data/memory.bin"),
     "data/memory.bin of the folder can not be read: No such file or directory"),
    (lambda at: at.without("board.json", b"[]"),
     "board.json is not as it was written: list indices must be integers or slices, not str"),
    (lambda at: at.without("data/memory.json", b'{"base": 0}'),
     "data/memory.json is not as it was written: it has no 'bytes'"),
    (lambda at: at.without("sw/fabric_moved.h", compiler="/bin/false"), "/bin/false does not compile the driver:\n"),
    (lambda at: at.without("sw/fabric_moved.h", compiler="/bin/none"),
     "the compiler /bin/none: No such file or directory"),
    # runs
    (lambda at: at.board().run(None), "inputs must be a dict of data by name, not NoneType"),
    (lambda at: at.board().run({1: 2}), "inputs must be x, s, not 1"),
    (lambda at: at.run(x=None), "inputs must be x, s, not s"),
    (lambda at: at.board().run({}), "inputs must be x, s, not none"),
    (lambda at: at.run(x=np.zeros((4, 16))), "x must have shape [8, 16], not [4, 16]"),
    (lambda at: at.run(s=[[]]), "s must have 2 entries here, not 1"),
    (lambda at: at.run(s=[[np.zeros((1, 4))] * 600, []]), "s: too little room, or beyond the address space"),
    (lambda at: at.run(), "t: the stream has not ended"),
    (lambda at: at.faulty(13), "nothing moved for as many cycles as the watchdog allows"),
    (lambda at: at.faulty(13, status=48),
     "nothing moved for as many cycles as the watchdog allows; memory has not answered"),
    (lambda at: at.faulty(11, memory_fault=0x1_000B, memory_fault_low=0x40),
     "s_values: memory answers a read or write with an error (SLVERR) (address 0x40)"),
    # inputs that stay
    (lambda at: hold(at, "y"), "y is stored by the program: none to hold"),
    (lambda at: hold(at, "t"), "t is no input: none to hold"),
    (lambda at: hold(at, "z"), "z is no input: none to hold"),
    (lambda at: hold(at, "x", np.zeros(3)), "x must have shape [8, 16], not [3]"),
    (lambda at: held(at, None), "x is held: give what hold('x', data) returned last"),
    (lambda at: held(at, np.zeros((8, 16))), "x is held: give what hold('x', data) returned last"),
    (lambda at: at.board().run({**data(0), "x": hold(at, "x", data(0)["x"])}),
     "x is not held: give what hold('x', data) returned last"),
    (lambda at: at.two().hold("x", data(0)["x"]), "x can not be held while a run is in flight; wait() for that"),
    (lambda at: at.two().check(), "check() writes all of memory: call it before hold(), and with no run in flight"),
    # files that the kernel maps
    (lambda at: at.mapped("none"),
     "register file '{none}': 4,096 bytes from 0x0 on are wanted: No such file or directory"),
    (lambda at: at.mapped("short"), "register file '{short}': 4,096 bytes from 0x0 on are wanted, but it has 8 bytes"),
    (lambda at: at.mapped("regs", "empty"),
     "memory file '{empty}': {size:,} bytes from 0x0 on are wanted, but it has 0 bytes"),
    (lambda at: at.mapped(memory_offset=8),
     "memory file '{mem}': {size:,} bytes from 0x8 on are wanted, but memory_offset must be a multiple of 4,096"),
    (lambda at: at.mapped(size=1 << 40),
     "memory file '{mem}': 1,099,511,627,776 bytes from 0x0 on are wanted, but it has {size:,} bytes"),
    (lambda at: at.host.Driver(at.mapped(size=64)),
     "{size:,} bytes from address {base:#x} on are not in the memory that is mapped: 64 bytes from {base:#x} on"),
    (lambda at: at.mapped().read32(2), "register file '{regs}' has no register 0x2: multiples of 4 below 0x1000 are"),
    (lambda at: at.mapped().write32(4096, 0),
     "register file '{regs}' has no register 0x1000: multiples of 4 below 0x1000 are"),
    (lambda at: at.mapped().read(at.base - 64, 64), "64 bytes from address 0x7fffffc0 on " + WHERE),
    (lambda at: at.mapped().write(at.base, bytes(100)),
     "100 bytes from address {base:#x} on: both must be multiples of 64"),
    (lambda at: at.mapped().view(at.base + 8, 64), "64 bytes from address 0x80000008 on: both must be multiples of 64"),
    (lambda at: at.mapped().reserve(at.size, at.base + at.size), "{size:,} bytes from address {end:#x} on " + WHERE),
    # a buffer of u-dma-buf
    (lambda at: at.host.DmaBuffer(at.at("regs"), "udmabuf7", system=at.at(".")),
     "u-dma-buf file '{dir}/udmabuf7/phys_addr': No such file or directory"),
    (lambda at: at.buffer(), "u-dma-buf file '{dir}/udmabuf0/size': No such file or directory"),
    (lambda at: at.buffer("none"),
     "u-dma-buf file '{dir}/udmabuf0/phys_addr': invalid literal for int() with base 0: 'none'"),
    (lambda at: at.buffer(size=at.size, sync_mode=4, dma_coherent=0),
     "udmabuf0 has sync_mode 4, a cache that the board does not see: write 1 or 2 to it"),
    (lambda at: at.buffer(size=at.size, sync_mode=0, dma_coherent=1), "memory file '{dir}/udmabuf0': {size:,} bytes "
     "from 0x0 on are wanted: Is a directory"),
    # cards on PCIe
    (lambda at: at.host.Xdma(at.at("z")),
     "register file '{dir}/z_user': 4,096 bytes from 0x0 on are wanted: No such file or directory"),
    (lambda at: at.host.Xdma(at.at("y")), "memory file '{dir}/y_h2c_0': No such file or directory"),
    (lambda at: at.host.Xdma(at.at("x"), interrupt=1), "interrupts of '{dir}/x_events_1': No such file or directory"),
    (lambda at: at.host.Xdma(at.at("x")).read(0x40, 64),
     "memory file '{dir}/x_c2h_0': 64 bytes from 0x40 on are wanted: 0 came"),
    (stuck, "memory file '{dir}/x_h2c_0': 128 bytes are to be at 0x40: 64 went"),
    (lambda at: at.lite().read(-64, 64),
     "LitePCIe device '/dev/null': read of -0x40: its bus has 32 bits of addresses"),
    (lambda at: at.lite("/dev/litepcie9"), "LitePCIe device '/dev/litepcie9': No such file or directory"),
    (lambda at: at.lite().read32(16), "LitePCIe device '/dev/null': read of 0x10: Inappropriate ioctl for device"),
    (lambda at: at.lite().write(1 << 32, bytes(64)),
     "LitePCIe device '/dev/null': write of 0x100000000: its bus has 32 bits of addresses"),
    # runtimes
    (no_pyxrt, "pyxrt of XRT is not there (import of pyxrt halted; None in sys.modules): "
     "source /opt/xilinx/xrt/setup.sh"),
    (lambda at: at.xrt(group=9).reserve(4096, 0), "XRT: a buffer of 4,096 bytes in group 9: no such bank"),
    (lambda at: at.xrt().read(64, 64), "64 bytes from address 0x40 on are not in a buffer"),
    (lambda at: at.host.Pynq(None, lambda **_: bytes(1 << 62)).reserve(1 << 62, 0),
     "PYNQ: a buffer of 4,611,686,018,427,387,904 bytes: MemoryError"),
)  # fmt: skip
def test_what_is_refused(
    ask: Callable[[Refusals], Any],
    message: str,
    made: tuple[Path, Folder, ModuleType],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the file, the size, the register or the tensor."""
    at = Refusals(made, tmp_path, monkeypatch)
    names = {name: at.at(name) for name in ("regs", "mem", "short", "empty", "none")}
    with raising(
        at.host.BoardError, message.format(**names, base=at.base, size=at.size, end=at.base + at.size, dir=tmp_path)
    ):
        ask(at)


def test_what_is_written_is_there_before_a_start(
    made: tuple[Path, Folder, ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The last word is read back, which PCIe does not let pass what was written before."""
    files = Refusals(made, tmp_path, monkeypatch).mapped()
    accesses, words = list[tuple[str, int]](), made[2].mapped.device_words()
    begin = files._memory._begin

    class Seen:
        def __getattr__(self, name: str) -> Any:
            def call(at: Any, data: Any, count: Any) -> None:
                accesses.append((name, at.value - begin))
                getattr(words, name)(at, data, count)

            return call

    files._memory._words = Seen()
    base = made[1].places[0].address
    files.write(base + 64, bytes(range(128)))
    assert accesses == [("device_write", 64), ("device_read", 64 + 120)]
    assert files.read(base + 64, 128) == bytes(range(128))


def test_memory_of_devices_is_reached_by_whole_words(made: tuple[Path, Folder, ModuleType]) -> None:
    """The compiler makes no memcpy of it, and joins no accesses: they are volatile."""
    source = made[0] / "host" / "words.c"
    for text, volatile in ((source.read_text(), True), (source.read_text().replace("volatile ", ""), False)):
        command = [str(COMPILER), "-std=c99", "-O3", "-S", "-x", "c", "-", "-o", "-"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
        assert bool(re.search(r"mem(cpy|move)|xmm|\bq\d", done.stdout)) != volatile
