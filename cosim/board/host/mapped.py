"""Files that the kernel maps: registers and memory of a Zynq, or of a card on PCIe."""

from __future__ import annotations

import ctypes
import mmap
import os
import select
import stat
from pathlib import Path

import numpy as np

from .driver import device_words
from .errors import BoardError
from .folder import memory_map, tables
from .transport import Transport, check_part, told

PATIENCE = 1.0
"""Seconds for which a transport waits for an interrupt before somebody looks at the status again."""


class MappedWindow:
    """``size`` bytes of a file from ``offset`` on, mapped without a cache; accesses are whole aligned words."""

    def __init__(self, what: str, name: str, offset: int, size: int) -> None:
        self.size, self._told = size, f"{what} file {name!r}"
        wanted = f"{self._told}: {size:,} bytes from {offset:#x} on are wanted"
        if offset < 0 or offset % mmap.ALLOCATIONGRANULARITY:
            raise BoardError(f"{wanted}, but {what}_offset must be a multiple of {mmap.ALLOCATIONGRANULARITY:,}")
        with told(wanted):
            file = os.open(name, os.O_RDWR | os.O_SYNC)
            try:
                found = os.fstat(file)
                if stat.S_ISREG(found.st_mode) and found.st_size < offset + size:  # a device does not say its size
                    raise BoardError(f"{wanted}, but it has {found.st_size:,} bytes")
                self._map = mmap.mmap(file, size, offset=offset)
            finally:
                os.close(file)
        self.bytes = np.frombuffer(self._map, np.uint8)
        self._words, self._begin = device_words(), self.bytes.ctypes.data

    @classmethod
    def of_registers(cls, name: str, offset: int) -> MappedWindow:
        """The registers in a file."""
        pages = -(-(max(tables()["registers"].values()) + 4) // mmap.PAGESIZE)
        return cls("register", name, offset, pages * mmap.PAGESIZE)

    def read32(self, offset: int) -> int:
        return int(self._words.device_read32(self._register(offset)))

    def write32(self, offset: int, value: int) -> None:
        self._words.device_write32(self._register(offset), ctypes.c_uint32(value))

    def _register(self, offset: int) -> ctypes.c_void_p:
        if not 0 <= offset < self.size or offset % 4:
            raise BoardError(f"{self._told} has no register {offset:#x}: multiples of 4 below {self.size:#x} are")
        return ctypes.c_void_p(self._begin + offset)

    def read(self, begin: int, size: int) -> bytes:
        """Bytes from ``begin`` on; both numbers are multiples of 8."""
        room = ctypes.create_string_buffer(size)
        self._words.device_read(ctypes.c_void_p(self._begin + begin), room, ctypes.c_size_t(size // 8))
        return room.raw

    def write(self, begin: int, data: bytes) -> None:
        """The opposite of `read`, and then a read: PCIe may deliver what is written behind a start on another way."""
        self._words.device_write(ctypes.c_void_p(self._begin + begin), data, ctypes.c_size_t(len(data) // 8))
        self.read(begin + len(data) - 8, 8)


class Events:
    """A file that becomes readable at an interrupt: a UIO device, or events of XDMA.

    ``again``: what is written to it first, to have the next interrupt.
    """

    def __init__(self, name: str, again: bytes = b"") -> None:
        self._told, self._again = f"interrupts of {name!r}", again
        with told(self._told):
            self._file = os.open(name, os.O_RDWR if again else os.O_RDONLY)

    def wait(self) -> None:
        """Until an interrupt, or `PATIENCE`."""
        with told(self._told):
            if self._again:
                os.write(self._file, self._again)
            if select.select([self._file], [], [], PATIENCE)[0]:
                os.read(self._file, 4)


class MappedRegisters(Transport):
    """Registers in a window, and maybe a file of interrupts; memory is up to others."""

    def __init__(self, registers: MappedWindow, events: Events | None) -> None:
        self._registers, self._events, self.interrupts = registers, events, events is not None

    def read32(self, offset: int) -> int:
        return self._registers.read32(offset)

    def write32(self, offset: int, value: int) -> None:
        self._registers.write32(offset, value)

    def wait(self) -> None:
        super().wait() if self._events is None else self._events.wait()


class MappedFiles(MappedRegisters):
    """Files that the kernel maps: /dev/uioN or /dev/mem of a Zynq, /sys/bus/pci/devices/.../resourceN of a PCIe card.

    ``registers`` and ``memory`` are files. The registers are at ``register_offset`` of theirs. Address ``base`` of the
    bus is at ``memory_offset`` of the memory, which is ``base`` itself by default, as in /dev/mem, and ``size`` bytes
    from there on are the board's: by default those of ``memory.json``, which do for one run in flight. Memory has to be
    coherent with the board: reserved, or mapped without a cache (``O_SYNC``, which is given). ``interrupt``: whether
    ``registers`` is a UIO device with the board's interrupt, for which `wait` waits; else it looks at the status.
    Tested on files, and the interrupt on a terminal.
    """

    def __init__(
        self,
        registers: str,
        memory: str,
        *,
        register_offset: int = 0,
        base: int | None = None,
        memory_offset: int | None = None,
        size: int | None = None,
        interrupt: bool = False,
    ) -> None:
        self._base = memory_map()["base"] if base is None else base
        window = MappedWindow.of_registers(registers, register_offset)
        super().__init__(window, Events(registers, (1).to_bytes(4, "little")) if interrupt else None)
        offset = self._base if memory_offset is None else memory_offset
        self._memory = MappedWindow("memory", memory, offset, memory_map()["bytes"] if size is None else size)

    def reserve(self, size: int, address: int) -> int:
        self._part(address, size)
        return address

    def read(self, address: int, size: int) -> bytes:
        return self._memory.read(self._part(address, size), size)

    def write(self, address: int, data: bytes) -> None:
        self._memory.write(self._part(address, len(data)), data)

    def view(self, address: int, size: int) -> np.ndarray:
        begin = self._part(address, size)
        return self._memory.bytes[begin : begin + size]

    def _part(self, address: int, size: int) -> int:
        check_part(address - self._base, size, self._memory.size, self._base, "the memory that is mapped")
        return address - self._base


CACHED = (0, 4)
"""Modes of u-dma-buf that cache what is opened with ``O_SYNC``, too."""


class DmaBuffer(MappedFiles):
    """Registers in a file, and memory by the kernel module u-dma-buf, which takes it from CMA: ``name`` is its buffer.

    Its ``sync_mode`` 2 makes views fast (`Transport.view`); 0 and 4 have caches that the board does not see. Tested
    against files in the place of its devices, which are in ``devices`` and ``system``. https://github.com/ikwzm/udmabuf
    has its files ``phys_addr``, ``size``, ``sync_mode`` and ``dma_coherent``.
    """

    def __init__(
        self,
        registers: str,
        name: str = "udmabuf0",
        *,
        register_offset: int = 0,
        interrupt: bool = False,
        devices: str = "/dev",
        system: str = "/sys/class/u-dma-buf",
    ) -> None:
        found = []
        for each in ("phys_addr", "size", "sync_mode", "dma_coherent"):
            file = Path(system, name, each)
            with told(f"u-dma-buf file '{file}'"):
                found.append(int(file.read_text(), 0))
        self._next, size, mode, coherent = found
        if mode in CACHED and not coherent:
            raise BoardError(f"{name} has sync_mode {mode}, a cache that the board does not see: write 1 or 2 to it")
        where = {"base": found[0], "memory_offset": 0, "size": size, "register_offset": register_offset}
        super().__init__(registers, f"{devices}/{name}", interrupt=interrupt, **where)

    def reserve(self, size: int, address: int) -> int:
        address = super().reserve(size, self._next)
        self._next += size
        return address
